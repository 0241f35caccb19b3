#include "cli/results.hpp"

#include "cli/text.hpp"
#include "cli/whole_file.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <ctime>
#include <exception>
#include <fstream>
#include <mutex>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace smem::cli {

namespace {

using Json = nlohmann::ordered_json;

/// The members of a row in a file: `visit(name, member)`, those of the plan by `of_plan`.
template <class Row, class Visit, class OfPlan>
void visit_row(Row& r, const Visit& visit, const OfPlan& of_plan) {
  visit("operation", r.operation);
  visit("case", r.label);
  visit("asked", r.asked);
  visit("variant", r.variant);
  visit("median_s", r.seconds.median);
  visit("low_s", r.seconds.low);
  visit("high_s", r.seconds.high);
  visit("bytes", r.bytes);
  visit("operations", r.operations);
  visit("copy_bytes_per_s", r.copy_rate);
  visit("fp32_per_s", r.fp32_rate);
  visit("goal", r.goal);
  visit("wrong", r.wrong);
  of_plan("store_degree", r.store_degree);
  of_plan("load_degree", r.load_degree);
  of_plan("local_bytes", r.local_bytes);
  of_plan("residency", r.residency);
  of_plan("reason", r.reason);
}

Json row_to_json(const Result& r) {
  Json json, plan;
  visit_row(
      r, [&](const char* name, const auto& member) { json[name] = member; },
      [&](const char* name, const auto& member) { plan[name] = member; });
  json.update({{"share", r.share()}, {"stable", r.stable()}});
  json.update({{"build_s", r.costs.build}, {"host_s", r.costs.host}, {"plan", plan}});
  return json;
}

Result row_from_json(const Json& json) {
  Result r;
  visit_row(
      r, [&](const char* name, auto& member) { json.at(name).get_to(member); },
      [&](const char* name, auto& member) { json.at("plan").at(name).get_to(member); });
  r.costs = {json.value("build_s", 0.0), json.value("host_s", 0.0)};  // older files have none
  return r;
}

}  // namespace

void set_plan(Result& result, const Device& device, const Plan& plan) {
  result.variant = plan.variant;
  result.store_degree = plan.layout.store_degree();
  result.load_degree = plan.layout.load_degree();
  result.local_bytes = plan.prediction.local_bytes;
  result.residency = occupancy(device, plan).share;
  result.reason = plan.reason;
}

namespace {

std::mutex& recording() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

Results recorded_so_far() {
  const std::scoped_lock lock(recording());
  return recorded();
}

std::function<void()> kept(std::function<void(const Results&)> write) {
  return [write = std::move(write)] {
    const Results results = recorded_so_far();
    if (results.rows.empty()) return;
    try {
      write(results);
    } catch (const std::exception&) {
    }
  };
}

Results& recorded() {
  static Results all;
  return all;
}

void record(const Device& device, Result result) {
  const std::scoped_lock lock(recording());
  Results& all = recorded();
  all.smem = SMEM_VERSION;
  all.device = device.name;
  all.platform = device.platform;
  all.driver = device.driver;
  all.rows.push_back(std::move(result));
}

std::string to_json(const Results& results) {
  Json rows = Json::array();
  for (const Result& row : results.rows)
    rows.push_back(row_to_json(row));
  const Json all{{"smem_results", 1},        {"smem", results.smem},
                 {"device", results.device}, {"platform", results.platform},
                 {"driver", results.driver}, {"rows", rows}};
  return all.dump(2) + "\n";
}

Results read_results(const char* argument, const std::string& path) {
  const auto refuse = [&](const std::string& got) {
    throw Error({.operation = "bench",
                 .argument = argument,
                 .expected = "a file that smem bench --json has written",
                 .got = got});
  };
  const std::optional<std::string> text = text_of_file(path);
  if (!text) refuse(fmt::format("{}, which cannot be read", path));
  Results results;
  try {
    const Json json = Json::parse(*text);
    if (json.at("smem_results") != 1) refuse(fmt::format("{}, of another form", path));
    json.at("smem").get_to(results.smem);
    json.at("device").get_to(results.device);
    json.at("platform").get_to(results.platform);
    json.at("driver").get_to(results.driver);
    for (const Json& row : json.at("rows"))
      results.rows.push_back(row_from_json(row));
  } catch (const Json::exception& error) {
    refuse(fmt::format("{}: {}", path, error.what()));
  }
  return results;
}

void write_text(const char* argument, const std::string& path, const std::string& text) {
  WholeFile file;
  file.open(path);
  file << text;
  if (!file.finish()) throw std::runtime_error(fmt::format("{}: cannot write {}", argument, path));
}

namespace {

std::string markdown_row(const Result& r) {
  return fmt::format("| {} | {} | {} | {:.4f} | {:.1f} %{} | {} {} | {:.3f}{} | {} | {} |\n", r.operation,
                     r.label, r.asked == "auto" ? fmt::format("**{}**", r.variant) : r.variant,
                     r.seconds.median * 1e3, 100 * r.seconds.spread(), r.stable() ? "" : ", unstable",
                     number_text(r.rate() * 1e-9), r.by_operations() ? "GFLOP/s" : "GB/s", r.share(),
                     r.wrong.empty() ? "" : ", WRONG", build_text(r.costs.build), host_text(r.costs.host));
}

}  // namespace

std::string to_markdown(const Results& results) {
  std::array<char, 16> today{};
  const std::time_t now = std::time(nullptr);
  std::strftime(today.data(), today.size(), "%F", std::gmtime(&now));
  const std::string source =
      fmt::format("{} ({}, driver {}), smem {}, {}: `{}`\n", results.device, results.platform, results.driver,
                  results.smem, today.data(), results.command);
  std::string text;
  const std::string* group = nullptr;
  for (const Result& r : results.rows) {
    if (group == nullptr || *group != r.group) {
      text += fmt::format(
          "{}## {}\n\n{}\n"
          "| operation | case | variant | ms | spread | rate | of the device | built ms | host us |\n"
          "|---|---|---|---|---|---|---|---|---|\n",
          group == nullptr ? "" : "\n", r.group, source);
    }
    group = &r.group;
    text += markdown_row(r);
  }
  text +=
      "\nms: the median; spread: the middle four fifths of the repetitions. of the device: the share of its "
      "copy bandwidth, for GFLOP/s of its fp32 rate, measured in the same run. Bold: the plan's own choice. "
      "built: compiled in the first call; host: until a call returns.\n";
  return text;
}

Comparison compare(const Result& before, const Result& after) {
  const auto over = [](double a, double b) { return b > 0 ? a / b : 0; };
  return {over(before.seconds.median, after.seconds.median), over(before.seconds.low, after.seconds.high),
          over(before.seconds.high, after.seconds.low)};
}

}  // namespace smem::cli
