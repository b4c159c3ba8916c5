// SPDX-License-Identifier: Apache-2.0
#include "report/page.h"

#include <gtest/gtest.h>

namespace halftone::report {
namespace {

TEST(Escape, MarkupBecomesText) {
  EXPECT_EQ(escape("<b a=\"1\" c='2'>&amp;"), "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;");
  EXPECT_EQ(escape("± µ 🙂\n"), "± µ 🙂\n");
}

TEST(Escape, WhatIsNotUtf8IsReplaced) {
  const std::string replacement = "\xEF\xBF\xBD";
  EXPECT_EQ(escape(std::string("a\x01z", 3)), "a" + replacement + "z");
  EXPECT_EQ(escape(std::string("a\0z", 3)), "a" + replacement + "z");
  EXPECT_EQ(escape("a\xFFz"), "a" + replacement + "z");
  EXPECT_EQ(escape("\xC3"), replacement);                                      // cut off
  EXPECT_EQ(escape("\xC0\xAF"), replacement + replacement);                    // overlong
  EXPECT_EQ(escape("\xED\xA0\x80"), replacement + replacement + replacement);  // a surrogate
}

TEST(Page, TheTitleIsEscapedAndTheBodyIsNot) {
  const std::string html = page("a < b", "<p>body</p>");
  EXPECT_EQ(html.rfind("<!DOCTYPE html>", 0), 0u);
  EXPECT_NE(html.find("<title>a &lt; b</title>"), std::string::npos);
  EXPECT_NE(html.find("<p>body</p>"), std::string::npos);
  EXPECT_EQ(html.find("<script"), std::string::npos);
}

TEST(Page, CellsFactsAndTilesAreText) {
  EXPECT_NE(to_html(Table{{"<h>"}, {true}, {{"<c>"}}}).find("<th scope=\"col\" class=\"n\">&lt;h&gt;</th>"),
            std::string::npos);
  EXPECT_NE(facts({{"<a>", "<b>"}}).find("<dt>&lt;a&gt;</dt><dd>&lt;b&gt;</dd>"), std::string::npos);
  EXPECT_NE(tiles({{"<a>", "<b>"}}).find("<b>&lt;a&gt;</b><span>&lt;b&gt;</span>"), std::string::npos);
  EXPECT_NE(section("<h>", "<p>x</p>").find("<h2>&lt;h&gt;</h2>\n<p>x</p>"), std::string::npos);
}

}  // namespace
}  // namespace halftone::report
