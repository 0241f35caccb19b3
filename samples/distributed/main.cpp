// Heat in a photograph, over all ranks of MPI: each colour is a plate of metal, cut into blocks of rows, a
// block or more a device. The picture is put together at the end, and compared with what one device makes of
// it: the bits must be the same.
//
//   mpirun -np RANKS distributed [PICTURE]     SMEM_SAMPLE_OUTPUT: the folder to write into, else ./output
#include "image.hpp"
#include "sample.hpp"

#include <smem/distributed/distributed.hpp>
#include <smem/smem.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace {

constexpr std::uint8_t Pixel::*kColours[] = {&Pixel::red, &Pixel::green, &Pixel::blue};

void spread_heat(int argc, char** argv) {
  const smem::distributed::Session session;
  const Image photo = read_image(pictures_of(argc, argv).front());
  const smem::GridSize size{photo.cols, photo.rows};
  const smem::Heat heat{.steps = 200, .dt = 0.2};
  Image blurred = photo;
  double seconds = 0;
  for (const auto colour : kColours) {
    std::vector<float> cells;
    for (const Pixel& pixel : photo.pixels)
      cells.push_back(pixel.*colour);
    smem::distributed::Grid<float> before(session, size), after(session, size);
    before.write(cells);  // each rank takes its rows
    const smem::distributed::Halo halo{.steps =
                                           20};  // rows that a rank has of its neighbours, and computes too
    smem::distributed::heat(before, after, {.steps = halo.steps, .dt = heat.dt}, halo);  // kernels are built
    const auto began = std::chrono::steady_clock::now();
    smem::distributed::heat(before, after, heat, halo);
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    const std::vector<float> whole = after.to_host();
    for (std::size_t i = 0; i < whole.size(); ++i)
      blurred.pixels[i].*colour = static_cast<std::uint8_t>(std::lround(whole[i]));

    if (session.rank() == 0 && colour == kColours[0]) {
      const smem::Context context;
      const smem::Array<float> in(context, cells), out(context, smem::Count{cells.size()});
      smem::heat(context, in.grid(size), out.grid(size), heat);
      if (out.to_host() != whole) throw std::runtime_error("one device gives other bits than all ranks");
    }
  }
  if (session.rank() != 0) return;
  for (int rank = 0; rank < session.ranks(); ++rank) {
    for (const std::string& device : session.devices()[static_cast<std::size_t>(rank)])
      fmt::print("rank {}: {}\n", rank, device);
  }
  const auto path = output_folder() / "distributed.png";
  write_png(path, contact_sheet({{"before", photo},
                                 {fmt::format("{} steps, {} ranks", heat.steps, session.ranks()), blurred}},
                                2, 512));
  fmt::print("{} x {} cells, 3 colours, {} steps: {:.3f} s; the same bits as on one device\n{}\n", size.width,
             size.height, heat.steps, seconds, path.string());
}

}  // namespace

int main(int argc, char** argv) {
  return run_sample("distributed", [&] { spread_heat(argc, argv); });
}
