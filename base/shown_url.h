// URLs as logs, errors and --check-config show them: without parts that may be secret.
#pragma once

#include <string>
#include <string_view>

namespace digd {

// "nats://…@host:4222" for "nats://user:password@host:4222". An http or https URL keeps only its host and port, because
// the path may be a secret too (as Slack's is). Other URLs lose their query. The path of a file stays unchanged. `url`
// may be any text. Pure; any thread.
std::string shown_url(std::string_view url);

}  // namespace digd
