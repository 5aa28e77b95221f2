// Scales, label places and the chart's SVG.
#include "dash/chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dash/html.h"
#include "dash/labels.h"
#include "dash/scale.h"

namespace headroom::dash {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Html, EscapesEverythingThatCouldBreakOut) {
  EXPECT_EQ(escape("<b a=\"1\" c='2'>&</b>"),
            "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;&lt;/b&gt;");
  EXPECT_EQ(escape("a\x01\xFF"
                   "b"),
            "a\xEF\xBF\xBD\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(escape("ü→×"), "ü→×");
}

TEST(Html, TablesWriteOnlyWhatCellsHold) {
  HtmlTable table;
  EXPECT_EQ(table.html(), "");
  table.head = {Cell::number("n"), Cell::text("<x>")};
  Cell tipped = Cell::text("v");
  tipped.title = "a \"b\"";
  table.rows = {{Cell::number("1", "gain"), tipped}};
  const std::string html = table.html();
  EXPECT_THAT(html, HasSubstr("<th scope=\"col\" class=\"n\">n</th>"));
  EXPECT_THAT(html, HasSubstr("<th scope=\"col\">&lt;x&gt;</th>"));
  EXPECT_THAT(html, HasSubstr("<td class=\"n gain\">1</td><td title=\"a &quot;b&quot;\">v</td>"));
}

TEST(Scale, WideSpansAreLogarithmic) {
  const Scale wide(5, 79, 0, 100);
  EXPECT_TRUE(wide.logarithmic());
  EXPECT_LT(wide(5), wide(20));
  EXPECT_NEAR(wide(20) - wide(10), wide(40) - wide(20), 1e-9);
  const Scale narrow(40, 79, 0, 100);
  EXPECT_FALSE(narrow.logarithmic());
  EXPECT_NEAR(narrow(60) - narrow(50), narrow(50) - narrow(40), 1e-9);
  EXPECT_FALSE(Scale(0, 10, 0, 1).logarithmic());
}

TEST(Scale, TicksAreRoundAndFew) {
  for (const auto& [low, high] :
       {std::pair(5.0, 79.0), {28.7, 1647.0}, {1e-3, 1e6}, {40.0, 79.0}}) {
    const Scale scale(low, high, 0, 100);
    const auto ticks = scale.ticks(8);
    EXPECT_GE(ticks.size(), 2U) << low;
    EXPECT_LE(ticks.size(), 10U) << low;
    for (const auto& tick : ticks) {
      EXPECT_GE(tick.value, scale.low() * 0.999);
      EXPECT_LE(tick.value, scale.high() * 1.001);
    }
  }
  const Scale one(7, 7, 0, 100);
  EXPECT_GT(one(7), 0);
  EXPECT_LT(one(7), 100);
}

TEST(Scale, NumbersReadWell) {
  EXPECT_EQ(number_text(1647), "1,647");
  EXPECT_EQ(number_text(1234567), "1,234,567");
  EXPECT_EQ(number_text(43.2), "43.2");
  EXPECT_EQ(number_text(5), "5");
  EXPECT_EQ(number_text(0.18), "0.18");
  EXPECT_EQ(number_text(999.7), "1,000");
  EXPECT_EQ(number_text(0), "0");
}

TEST(Labels, KeepOffWhatIsTaken) {
  LabelPlacer placer({0, 0, 200, 200});
  const auto first = placer.place(100, 100, "64", 12, 6);
  const auto second = placer.place(100, 100, "64", 12, 6);
  ASSERT_TRUE(first && second);
  EXPECT_NE(std::pair(first->x, first->y), std::pair(second->x, second->y));
  for (int i = 0; i < 40; ++i) (void)placer.place(100, 100, "64", 12, 6, 0.0);
  EXPECT_FALSE(placer.place(100, 100, "64", 12, 6, 0.0)) << "no place is left";
}

TEST(Chart, MarksEveryPointAndEscapesNames) {
  Chart chart;
  chart.x_title = "tok/s/user";
  chart.y_title = "tok/s/GPU";
  chart.lines = {
      {"<script>alert(1)</script>", 0, {{5, 28, "4", "a\tb\"<", false}, {6, 348, "64", "", true}}},
      {"b", 1, {{78.9, 337, "4", "", false}}}};
  chart.limits = {{"bound", -1, {{100, 400}, {300, 100}}}};
  const std::string svg = chart_svg(chart, 920, 520);
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
  EXPECT_THAT(svg, HasSubstr("&lt;script&gt;"));
  EXPECT_THAT(svg, HasSubstr("data-tip=\"a\tb&quot;&lt;\""));
  EXPECT_THAT(svg, HasSubstr(">64</text>"));
  EXPECT_THAT(svg, HasSubstr("class=\"pt hollow\""));
  EXPECT_THAT(svg, HasSubstr("class=\"limit all\""));
  EXPECT_THAT(svg, HasSubstr(">bound</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_EQ(chart_svg(Chart{}, 920, 520), "");
}

}  // namespace
}  // namespace headroom::dash
