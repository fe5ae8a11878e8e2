/**
 * Every error the API can answer with. The key is our own code: it is sent as `error.metadata.reason`
 * and is a heading in docs/errors.md. `errorType` is the public vocabulary of `metadata.error_type`,
 * `type` the one the OpenAI and Messages SDKs read. `retry` says whether the same request may succeed later.
 */
export const errorTable = {
  invalid_request: row(400, 'invalid_request', 'invalid_request_error', 'The request is not valid.'),
  malformed_json: row(400, 'invalid_request', 'invalid_request_error', 'The request body is not valid JSON.'),
  origin_refused: row(
    400,
    'invalid_request',
    'invalid_request_error',
    'This origin may not call the API (CORS).',
  ),
  credential_missing: row(
    401,
    'authentication',
    'authentication_error',
    'No API key was sent. Send one as "Authorization: Bearer <API_KEY>".',
  ),
  credential_invalid: row(401, 'authentication', 'authentication_error', 'The API key is not valid.'),
  key_disabled: row(401, 'authentication', 'authentication_error', 'The API key is disabled.'),
  key_expired: row(401, 'authentication', 'authentication_error', 'The API key has expired.'),
  wrong_key_kind: row(
    403,
    'permission_denied',
    'permission_error',
    'This kind of key may not use this operation.',
  ),
  forbidden: row(403, 'permission_denied', 'permission_error', 'This is not allowed.'),
  region_refused: row(
    403,
    'permission_denied',
    'permission_error',
    'This operation is not offered in this region.',
  ),
  storage_full: row(403, 'permission_denied', 'permission_error', 'The storage of this workspace is full.'),
  route_unknown: row(404, 'not_found', 'not_found_error', 'There is nothing at this address.'),
  not_found: row(404, 'not_found', 'not_found_error', 'The resource does not exist.'),
  not_offered: row(404, 'not_found', 'not_found_error', 'This gateway does not offer this.'),
  method_not_allowed: row(
    405,
    'invalid_request',
    'invalid_request_error',
    'This address does not take this method.',
  ),
  request_timeout: row(408, 'timeout', 'timeout_error', 'The request took too long to arrive.', true),
  conflict: row(
    409,
    'precondition_failed',
    'invalid_request_error',
    'The request conflicts with the current state of the resource.',
  ),
  concurrent_change: row(
    409,
    'precondition_failed',
    'invalid_request_error',
    'The resource was changed at the same time. Try again.',
    true,
  ),
  ceiling_reached: row(
    409,
    'precondition_failed',
    'invalid_request_error',
    'There are as many records of this kind as there may be.',
  ),
  body_too_large: row(413, 'payload_too_large', 'invalid_request_error', 'The request body is too large.'),
  model_unknown: row(400, 'invalid_request', 'invalid_request_error', 'This model does not exist.'),
  model_wrong_endpoint: row(
    400,
    'invalid_request',
    'invalid_request_error',
    'This model does not answer requests of this kind.',
  ),
  loss_refused: row(
    400,
    'invalid_request',
    'invalid_request_error',
    'Part of the request cannot be carried to the provider.',
  ),
  upstream_rejected: row(
    400,
    'invalid_request',
    'invalid_request_error',
    'The provider rejected the request.',
  ),
  credits_exhausted: row(402, 'payment_required', 'billing_error', 'The account has no credits left.'),
  key_limit_reached: row(402, 'payment_required', 'billing_error', 'The key has reached its credit limit.'),
  price_unknown: row(
    402,
    'payment_required',
    'billing_error',
    'The price of the model is not known, and the key has a limit.',
  ),
  workspace_budget_reached: row(
    403,
    'permission_denied',
    'permission_error',
    'The workspace has reached its budget.',
  ),
  guardrail_budget_reached: row(
    403,
    'permission_denied',
    'permission_error',
    'The budget of a guardrail is reached.',
  ),
  rate_limited: row(429, 'rate_limit_exceeded', 'rate_limit_error', 'Too many requests.', true),
  guardrail_blocked: row(
    403,
    'permission_denied',
    'permission_error',
    'A guardrail does not allow this request.',
  ),
  preset_unusable: row(404, 'not_found', 'not_found_error', 'The preset does not exist or cannot be used.'),
  upstream_timeout: row(408, 'timeout', 'timeout_error', 'The provider took too long.', true),
  upstream_unprocessable: row(
    422,
    'unprocessable',
    'invalid_request_error',
    'The provider could not process the request.',
  ),
  upstream_too_large: row(
    413,
    'payload_too_large',
    'invalid_request_error',
    'The provider takes no request of this size.',
  ),
  upstream_rate_limited: row(
    429,
    'rate_limit_exceeded',
    'rate_limit_error',
    'The provider is receiving too many requests.',
    true,
  ),
  upstream_failed: row(502, 'provider_unavailable', 'api_error', 'The provider failed.', true),
  upstream_overloaded: row(
    503,
    'provider_overloaded',
    'overloaded_error',
    'The provider is overloaded.',
    true,
  ),
  no_provider: row(
    503,
    'not_found',
    'api_error',
    'No available provider meets the requirements of this request.',
  ),
  no_endpoints: row(404, 'not_found', 'not_found_error', 'No provider of this model is set up here.'),
  unavailable: row(503, 'server', 'api_error', 'The gateway cannot answer right now.', true),
  internal: row(500, 'server', 'api_error', 'Something went wrong on our side.', true),
} satisfies Record<string, ErrorRow>

export type ErrorCode = keyof typeof errorTable

export interface ErrorRow {
  status: number
  errorType: string
  type: string
  message: string
  retry: boolean
}

function row(status: number, errorType: string, type: string, message: string, retry = false): ErrorRow {
  return { status, errorType, type, message, retry }
}
