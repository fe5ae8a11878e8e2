/** Settings in `limits` with which a test never reaches the rates of an installation. */
export const raisedRates = {
  management_requests_per_minute: 1_000_000_000,
  lookup_requests_per_minute: 1_000_000_000,
  anonymous_requests_per_minute: 1_000_000_000,
  failed_authentications_per_minute: 1_000_000_000,
}
