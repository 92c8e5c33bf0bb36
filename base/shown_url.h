// A URL as logs, errors and --check-config may show it: without what may be a secret.
#pragma once

#include <string>
#include <string_view>

namespace digd {

// "nats://…@host:4222" of "nats://user:password@host:4222". Of http and https it shows only the host and the port,
// because the path may be a secret too (as Slack's is). Of other URLs it leaves out the query. A path of a file stays
// as it is. `url` may be any text. Pure; any thread.
std::string shown_url(std::string_view url);

}  // namespace digd
