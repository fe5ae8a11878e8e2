/**
 * Every error of the API. The key is sent as `error.metadata.reason` and is a heading in docs/errors.md.
 * `errorType` is sent as `metadata.error_type`, `type` is what the OpenAI and Anthropic SDKs read, and `retry`
 * says whether the same request can succeed later.
 */
export const errorTable = {
  invalid_request: row(400, 'invalid_request', 'invalid_request_error', 'The request is invalid.'),
  malformed_json: row(400, 'invalid_request', 'invalid_request_error', 'The request body is not valid JSON.'),
  origin_refused: row(
    400,
    'invalid_request',
    'invalid_request_error',
    'This web origin is not allowed to call the API. The operator can allow it with "cors" in headgate.yaml.',
  ),
  unsupported_grant_type: row(
    400,
    'invalid_request',
    'invalid_request_error',
    'The grant type is not supported.',
  ),
  invalid_scope: row(400, 'invalid_request', 'invalid_request_error', 'The scope is not supported.'),
  invalid_grant: row(
    400,
    'invalid_request',
    'invalid_request_error',
    'The subject token is not accepted by this policy.',
  ),
  credential_missing: row(
    401,
    'authentication',
    'authentication_error',
    'No API key was sent. Send one as "Authorization: Bearer <API_KEY>".',
  ),
  credential_invalid: row(401, 'authentication', 'authentication_error', 'The API key is invalid.'),
  session_ended: row(401, 'authentication', 'authentication_error', 'The session has ended. Sign in again.'),
  key_disabled: row(
    401,
    'authentication',
    'authentication_error',
    'The API key is disabled. Enable it, or use another key.',
  ),
  key_expired: row(
    401,
    'authentication',
    'authentication_error',
    'The API key has expired. Use another key.',
  ),
  wrong_key_kind: row(
    403,
    'permission_denied',
    'permission_error',
    'This kind of key cannot call this operation. Use an inference key for models and a management key for the rest.',
  ),
  permission_missing: row(
    403,
    'permission_denied',
    'permission_error',
    'The caller does not have the permission that this operation requires.',
  ),
  forbidden: row(
    403,
    'permission_denied',
    'permission_error',
    'The key does not have permission to do this.',
  ),
  end_user_blocked: row(
    403,
    'permission_denied',
    'permission_error',
    'The end user is blocked by the organization.',
  ),
  rule_rejected: row(403, 'permission_denied', 'permission_error', 'A routing rule rejects the request.'),
  privacy_locked: row(
    403,
    'permission_denied',
    'permission_error',
    'The privacy settings of the organization are locked.',
  ),
  region_refused: row(
    403,
    'permission_denied',
    'permission_error',
    'This operation is not available in this region.',
  ),
  storage_full: row(
    403,
    'permission_denied',
    'permission_error',
    'The file storage of this workspace is full. Delete files to make room.',
  ),
  route_unknown: row(
    404,
    'not_found',
    'not_found_error',
    'This path does not exist. The API is served under /api/v1 and /v1.',
  ),
  not_found: row(404, 'not_found', 'not_found_error', 'The resource does not exist.'),
  not_offered: row(404, 'not_found', 'not_found_error', 'This gateway does not support this operation.'),
  method_not_allowed: row(
    405,
    'invalid_request',
    'invalid_request_error',
    'This path does not support this method. The Allow header lists those it supports.',
  ),
  request_timeout: row(
    408,
    'timeout',
    'timeout_error',
    'The request did not arrive in time. Retry it.',
    true,
  ),
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
    'Another request changed the resource at the same time. Retry the request.',
    true,
  ),
  idempotency_key_in_use: row(
    409,
    'precondition_failed',
    'invalid_request_error',
    'The first request with this Idempotency-Key is still running. Retry the request.',
    true,
  ),
  ceiling_reached: row(
    409,
    'precondition_failed',
    'invalid_request_error',
    'The maximum number of records of this kind is reached. Delete some, or ask the operator to raise it.',
  ),
  gone: row(410, 'not_found', 'not_found_error', 'The content is no longer stored.'),
  precondition_failed: row(
    412,
    'precondition_failed',
    'invalid_request_error',
    'The record has changed since it was read. Read it again, and send its new ETag as If-Match.',
  ),
  body_too_large: row(413, 'payload_too_large', 'invalid_request_error', 'The request body is too large.'),
  encoding_unsupported: row(
    415,
    'invalid_request',
    'invalid_request_error',
    'The Content-Encoding of the body is not supported. Send gzip, deflate, br, zstd or none.',
  ),
  model_unknown: row(
    400,
    'invalid_request',
    'invalid_request_error',
    'The model does not exist. GET /models lists the models.',
  ),
  model_wrong_endpoint: row(
    400,
    'invalid_request',
    'invalid_request_error',
    'The model does not support this operation.',
  ),
  loss_refused: row(
    400,
    'invalid_request',
    'invalid_request_error',
    'The provider does not support part of the request, and x-headgate-strict is set. metadata.dropped names the fields.',
  ),
  upstream_rejected: row(
    400,
    'invalid_request',
    'invalid_request_error',
    'The provider rejected the request.',
  ),
  credits_exhausted: row(
    402,
    'payment_required',
    'billing_error',
    'The organization has no credits left. Add credits.',
  ),
  key_limit_reached: row(
    402,
    'payment_required',
    'billing_error',
    'The limit of the key is reached. Raise it, or wait until it resets.',
  ),
  member_limit_reached: row(
    402,
    'payment_required',
    'billing_error',
    'The limit of the member who created the key is reached. Raise it, or wait until it resets.',
  ),
  limit_reached: row(
    402,
    'payment_required',
    'billing_error',
    'A limit is reached. Raise it, or wait until it resets.',
  ),
  price_unknown: row(
    402,
    'payment_required',
    'billing_error',
    'The price of the model is unknown, and the key has a limit. Use a model with a price, or a key without a limit.',
  ),
  workspace_budget_reached: row(
    403,
    'permission_denied',
    'permission_error',
    'The budget of the workspace is reached. Raise it, or wait until it resets.',
  ),
  guardrail_budget_reached: row(
    403,
    'permission_denied',
    'permission_error',
    'The budget of a guardrail is reached. Raise it, or wait until it resets.',
  ),
  rate_limited: row(
    429,
    'rate_limit_exceeded',
    'rate_limit_error',
    'Rate limit exceeded. Retry later.',
    true,
  ),
  guardrail_blocked: row(403, 'permission_denied', 'permission_error', 'A guardrail blocked this request.'),
  input_flagged: row(403, 'permission_denied', 'permission_error', 'The input was flagged by moderation.'),
  preset_unusable: row(
    404,
    'not_found',
    'not_found_error',
    'The preset does not exist, is not active, or has no version.',
  ),
  upstream_timeout: row(
    408,
    'timeout',
    'timeout_error',
    'The provider did not respond in time. Retry the request.',
    true,
  ),
  upstream_unprocessable: row(
    422,
    'unprocessable',
    'invalid_request_error',
    'The provider could not process the request.',
  ),
  idempotency_key_reused: row(
    422,
    'invalid_request',
    'invalid_request_error',
    'This Idempotency-Key was used for another request. Use a new key for a new request.',
  ),
  upstream_too_large: row(
    413,
    'payload_too_large',
    'invalid_request_error',
    'The request is too large for the provider. Send a shorter one.',
  ),
  range_unsatisfiable: row(
    416,
    'invalid_request',
    'invalid_request_error',
    'The requested range is outside of the file.',
  ),
  upstream_rate_limited: row(
    429,
    'rate_limit_exceeded',
    'rate_limit_error',
    'Rate limited by the provider. Retry later.',
    true,
  ),
  upstream_failed: row(502, 'provider_unavailable', 'api_error', 'The provider failed.', true),
  upstream_overloaded: row(
    503,
    'provider_overloaded',
    'overloaded_error',
    'The provider is overloaded. Retry later.',
    true,
  ),
  moderation_unavailable: row(
    503,
    'provider_unavailable',
    'api_error',
    'The input could not be moderated. Retry later.',
    true,
  ),
  no_provider: row(
    503,
    'not_found',
    'api_error',
    'No available provider meets the requirements of this request.',
  ),
  no_endpoints: row(
    404,
    'not_found',
    'not_found_error',
    'No provider of this model is configured. GET /models lists the models that can be used.',
  ),
  unavailable: row(503, 'server', 'api_error', 'The gateway is temporarily unavailable. Retry later.', true),
  internal: row(500, 'server', 'api_error', 'Internal server error.', true),
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
