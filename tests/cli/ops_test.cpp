// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <sstream>

#include "cli/run_in_folder.h"
#include "halftone/op.h"

namespace halftone {
namespace {

using Ops = RunInFolder;

TEST_F(Ops, EveryRegisteredOpIsListedWithItsPolicy) {
  const CommandResult result = run_command("ops");
  ASSERT_EQ(result.code, 0);
  for (const Op* op : registered_ops()) {
    std::istringstream lines(result.output);
    bool found = false;
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string name, policy;
      words >> name >> policy;
      found = found || (name == op->name && policy == to_string(op->cast));
    }
    EXPECT_TRUE(found) << op->name;
  }
  EXPECT_NE(result.output.find("\nmatmul "), std::string::npos);
}

TEST_F(Ops, TheDesignsPoliciesHold) {
  const nlohmann::json all = nlohmann::json::parse(run_command("ops --json").output);
  EXPECT_EQ(all["ops"].size(), registered_ops().size());
  for (const auto& [name, policy] : {std::pair("matmul", "compute"),
                                     {"conv2d", "compute"},
                                     {"batch_norm", "inside_float32"},
                                     {"cross_entropy", "float32"},
                                     {"softmax", "float32"},
                                     {"add", "widest"},
                                     {"relu", "keep"},
                                     {"max_pool2d", "keep"}}) {
    std::string found = "missing";
    for (const nlohmann::json& op : all["ops"])
      if (op["name"] == name) found = op["cast"];
    EXPECT_EQ(found, policy) << name;
  }
  for (const nlohmann::json& op : all["ops"])
    EXPECT_EQ(op["result"].is_null(), op["name"] != "linear_cross_entropy") << "its loss is float32: " << op;
  for (const nlohmann::json& op : all["ops"]) EXPECT_TRUE(all["policies"].contains(op["cast"])) << op;
}

}  // namespace
}  // namespace halftone
