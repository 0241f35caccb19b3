#!/usr/bin/env python3
"""Makes the README's pictures from what the samples wrote. Needs Pillow.

  samples/run heat && samples/run edges && samples/pictures/make.py
"""
from pathlib import Path

from PIL import GifImagePlugin, Image, ImageSequence

GifImagePlugin.LOADING_STRATEGY = GifImagePlugin.LoadingStrategy.RGB_AFTER_DIFFERENT_PALETTE_ONLY  # numbers of colours stay

here = Path(__file__).parent
output = here.parent / "output"
SHADE = 3  # of the animation's 256 colours, which go from black to white, every third is used

animation = Image.open(output / "astronaut_heat.gif")
palette = animation.getpalette()
frames = []
for number, frame in enumerate(ImageSequence.Iterator(animation)):
    if number % 4 == 3:
        frame = frame.point(lambda i: i // SHADE * SHADE)
        frame.putpalette(palette)
        frames.append(frame)
durations = [120] * (len(frames) - 1) + [1500]  # milliseconds
frames[0].save(here / "heat.gif", save_all=True, append_images=frames[1:], loop=0, duration=durations)

sheet = Image.open(output / "astronaut_edges_sheet.png").convert("RGB")
sheet.save(here / "edges.jpg", quality=82, optimize=True)
for name in ("heat.gif", "edges.jpg"):
    print(f"{here / name}: {(here / name).stat().st_size / 1024:.0f} KiB")
