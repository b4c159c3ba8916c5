// SPDX-License-Identifier: Apache-2.0
#include "report/format_chart.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>

#include "report/markup.h"
#include "report/records.h"

namespace halftone::report {
namespace {

// The row of a format in the first picture: its markup up to the next row.
std::string row_of(const std::string& html, const std::string& name) {
  const std::size_t label = html.find("aria-label=\"" + name + ":");
  if (label == std::string::npos) return "";
  return html.substr(label, html.find("</svg>", label) - label);
}

struct Bar {
  double begin, end;  // percent of the axis
  double opacity;
};

double attribute(const std::string& tag, const std::string& name) {
  return std::strtod(tag.c_str() + tag.find(" " + name + "=\"") + name.size() + 3, nullptr);
}

std::vector<Bar> bars_of(const std::string& row) {
  std::vector<Bar> bars;
  for (std::size_t at = row.find("<rect"); at != std::string::npos; at = row.find("<rect", at + 1)) {
    const std::string tag = row.substr(at, row.find('>', at) - at);
    const double x = attribute(tag, "x");
    bars.push_back({x, x + attribute(tag, "width"), attribute(tag, "fill-opacity")});
  }
  return bars;
}

// Percent of the axis at which the label of a power of two stands.
double label_at(const std::string& html, const std::string& label) {
  const std::size_t end = html.find("%\">" + label + "</span>");
  const std::size_t begin = html.rfind("left:", end);
  return std::strtod(html.c_str() + begin + 5, nullptr);
}

TEST(FormatChart, BarsLieBetweenThePublishedLimits) {
  const std::string html = format_charts({float16});
  EXPECT_EQ(markup_error(html), "");
  const double one = label_at(html, "1"), binade = (label_at(html, "2<sup>128</sup>") - one) / 128;
  ASSERT_GT(binade, 0.2);
  struct Limits {
    const char* name;
    double least, normal, most;  // exponents
  };
  for (const Limits& limits :
       {Limits{"float32", -149, -126, 128}, Limits{"bfloat16", -133, -126, 128},
        Limits{"float16", -24, -14, 16}, Limits{"float8_e5m2", -16, -14, std::log2(57344)},
        Limits{"float8_e4m3fn", -9, -6, std::log2(448)}, Limits{"float4_e2m1fn", -1, 0, std::log2(6)}}) {
    const std::vector<Bar> bars = bars_of(row_of(html, limits.name));
    ASSERT_EQ(bars.size(), 2u) << limits.name;
    EXPECT_NEAR(bars[0].begin, one + limits.least * binade, 0.02) << limits.name;
    EXPECT_NEAR(bars[0].end, one + limits.normal * binade, 0.02) << limits.name;
    EXPECT_NEAR(bars[1].begin, bars[0].end, 0.011) << limits.name;
    EXPECT_NEAR(bars[1].end, one + limits.most * binade, 0.02) << limits.name;
    EXPECT_LT(bars[0].opacity, bars[1].opacity) << limits.name << ": the subnormal part is lighter";
  }
}

TEST(FormatChart, WhatIsUsedStandsOut) {
  const std::string html = format_charts({float16, float32});
  EXPECT_EQ(occurrences(html, "<b>float16</b>"), 2u);  // in both pictures
  EXPECT_EQ(occurrences(html, "<b>bfloat16</b>"), 0u);
  EXPECT_EQ(bars_of(row_of(html, "float16"))[1].opacity, 1);
  EXPECT_LT(bars_of(row_of(html, "bfloat16"))[1].opacity, 0.7);
}

TEST(FormatChart, OtherFormatsJoinTheCommonOnes) {
  const std::string html = format_charts({find_dtype("e5m7"), float64, float8_e8m0fnu, int32});
  EXPECT_EQ(markup_error(html), "");
  EXPECT_EQ(bars_of(row_of(html, "e5m7")).size(), 2u);
  const std::vector<Bar> wide = bars_of(row_of(html, "float64"));
  ASSERT_EQ(wide.size(), 1u);  // its subnormal numbers are beyond the axis
  EXPECT_EQ(wide[0].begin, 0);
  EXPECT_EQ(wide[0].end, 100);
  EXPECT_EQ(bars_of(row_of(html, "float8_e8m0fnu")).size(), 1u);  // it has none
  EXPECT_NE(row_of(html, "float16"), "");
}

TEST(FormatChart, SpacingIsTheDifferenceOfNeighbours) {
  for (const char* name : {"float16", "float8_e4m3fn", "float4_e2m1fn", "binary8p4se", "binary8p1uf",
                           "float8_e8m0fnu", "uint8", "fixed8m6"}) {
    const Format& format = find_dtype(name).format();
    const std::vector<Point> points = relative_spacing(format);
    ASSERT_FALSE(points.empty()) << name;
    double last = 0;
    for (std::uint64_t code = 0; code < detail::max_code(format); ++code) {
      const double value = decode(format, code), next = decode(format, code + 1);
      if (!(value > 0) || std::exp2(std::ilogb(value)) != value) continue;  // the first of its binade
      last = std::ilogb(value);
      const auto at = static_cast<std::size_t>(last - points[0].x);
      ASSERT_LT(at, points.size()) << name;
      EXPECT_EQ(points[at].x, last) << name;
      EXPECT_EQ(points[at].y, (next - value) / value) << name << " " << value;
    }
    EXPECT_EQ(points.front().x, std::ilogb(min_subnormal(format))) << name;
    EXPECT_EQ(points.back().x, std::ilogb(max_finite(format)) + 1) << name;
  }
}

TEST(FormatChart, StepsRiseAmongSubnormalNumbers) {
  const std::string html = format_charts({float16});
  const std::size_t path =
      html.rfind("<path class=\"curve\" stroke=\"var(--c2)\" stroke-opacity=\"1\" d=\"M");
  ASSERT_NE(path, std::string::npos);
  const std::string steps = html.substr(path, html.find("/>", path) - path);
  EXPECT_EQ(occurrences(steps, "V"), 10u);                     // from 2^-24 to 2^-14, level from there on
  EXPECT_NE(steps.find(" 0.0H"), std::string::npos);           // the smallest number: spacing / size = 1
  EXPECT_NE(steps.find("V416.7H583.3\""), std::string::npos);  // 2^-10 of 2^-24, to 2^16 of -152 .. 136
}

TEST(FormatChart, RecipesNameTheirFormats) {
  EXPECT_EQ(formats_of({"float16"}), (std::vector<DType>{float16, float32}));
  EXPECT_EQ(formats_of({"float32", "bfloat16_pure", "float32"}), (std::vector<DType>{float32, bfloat16}));
  EXPECT_EQ(formats_of({"no such recipe", ""}), std::vector<DType>{});
  EXPECT_EQ(formats_of({"float8"}), (std::vector<DType>{bfloat16, float32, float8_e4m3fn, float8_e5m2}));
  EXPECT_EQ(formats_of({"nvfp4"}), (std::vector<DType>{bfloat16, float32, find_dtype("float4_e2m1fn")}));
}

TEST(FormatChart, BothPagesShowIt) {
  const auto shows = [](const std::string& html, const std::string& used) {
    return html.find("<h2>Number formats</h2>") != std::string::npos &&
           html.find("<b>" + used + "</b>") != std::string::npos && markup_error(html).empty();
  };
  EXPECT_TRUE(shows(to_html(sample_record(60, 1, "bfloat16")), "bfloat16"));
  Comparison comparison;
  for (const char* recipe : {"float32", "float16"}) {
    Series series;
    series.recipe = recipe;
    series.runs = {sample_record(60, 1, recipe)};
    comparison.series.push_back(series);
  }
  EXPECT_TRUE(shows(to_html(comparison), "float16"));
  EXPECT_TRUE(shows(to_html(comparison), "float32"));
}

}  // namespace
}  // namespace halftone::report
