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

interface Details {
  /** Public: replaces the table's message. */
  message?: string
  /** Public: merged into `error.metadata`. */
  metadata?: Record<string, unknown>
  /** Public: the provider's own error object, for a client of its format. Redacted and bounded. */
  vendor?: Record<string, unknown>
  /** Public: the field of the request that is wrong, as `error.param`. */
  param?: string
  /** Public: why no model answers, as `error.availability`. */
  availability?: Availability
  headers?: Record<string, string>
  /** Private: logged, never sent. */
  cause?: unknown
}

/** Whether and when a model can be had, for clients that choose another by themselves. */
export interface Availability {
  code:
    | 'model_not_found'
    | 'wrong_endpoint'
    | 'no_endpoints'
    | 'constraint_filtered'
    | 'capacity_exhausted'
    | 'temporarily_unavailable'
  retryable: boolean
  requested_models: string[]
  /** Seconds. */
  retry_after?: number
  affected_providers?: string[]
  excluded_by?: string[]
}

/** An error with a public half (code, message, metadata) and a private one (cause). */
export class GatewayError extends Error {
  readonly code: ErrorCode
  readonly row: ErrorRow
  readonly metadata: Record<string, unknown>
  readonly vendor: Record<string, unknown> | undefined
  readonly param: string | null
  readonly availability: Availability | undefined
  readonly headers: Record<string, string>
  /** Whose request it was, once that is known. */
  userId: string | null = null
  /** How it came about, for a client that asked for it. */
  serviceMetadata: Record<string, unknown> | null = null

  constructor(code: ErrorCode, details: Details = {}) {
    super(details.message ?? errorTable[code].message, { cause: details.cause })
    this.code = code
    this.row = errorTable[code]
    this.metadata = details.metadata ?? {}
    this.vendor = details.vendor
    this.param = details.param ?? null
    this.availability = details.availability
    this.headers = details.headers ?? {}
  }
}

/** What nobody expected is our own fault. */
export function asGatewayError(error: unknown): GatewayError {
  return error instanceof GatewayError ? error : new GatewayError('internal', { cause: error })
}

export function fail(code: ErrorCode, message?: string, metadata?: Record<string, unknown>): GatewayError {
  return new GatewayError(code, { ...(message && { message }), ...(metadata && { metadata }) })
}

/** The database or the ledger cannot be used right now. */
export function unavailable(cause?: unknown): GatewayError {
  return new GatewayError('unavailable', { cause, headers: { 'retry-after': '5' } })
}

export interface Issue {
  field: string
  message: string
}

/** Request fields that are wrong, in the one form every 400 about input has. The message is the first one. */
export function badFields([first, ...more]: readonly [Issue, ...Issue[]]): GatewayError {
  return new GatewayError('invalid_request', {
    message: `${first.field}: ${first.message}`,
    metadata: { issues: [first, ...more] },
    param: first.field,
  })
}

export function badField(field: string, problem: string): GatewayError {
  return badFields([{ field, message: problem }])
}

/** A limit of ours on how often something may be asked: windows begin at multiples of their length. */
export function rateLimited(message: string, limit: number, windowMs: number, now: number): GatewayError {
  const reset = (Math.floor(now / windowMs) + 1) * windowMs
  return new GatewayError('rate_limited', {
    message,
    headers: {
      'x-ratelimit-limit': String(limit),
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': String(reset),
    },
  })
}

export interface ErrorEnvelope {
  error: {
    code: number
    message: string
    type: string
    /** `code` as the libraries of the Chat format expect it: a word. */
    string_code: string
    param: string | null
    metadata: Record<string, unknown>
    availability?: Availability
  }
  service_metadata?: Record<string, unknown>
  user_id: string | null
}

/** What a client sees. The message of a 500 is generic: the details are in the log under the request id. */
export function envelope(error: GatewayError, requestId: string): ErrorEnvelope {
  const { status, type } = error.row
  const message = status === 500 ? `${error.row.message} Request id: ${requestId}` : error.message
  return {
    error: {
      ...vendorFields(error),
      code: status,
      message,
      type,
      ...matchedMembers(error),
      metadata: metadataOf(error),
      ...(error.availability && { availability: error.availability }),
    },
    ...explainedError(error),
    user_id: error.userId,
  }
}

/** What the provider's error object has beside the fields of ours. */
export function vendorFields({ vendor = {} }: GatewayError): Record<string, unknown> {
  const { code: _code, message: _message, metadata: _metadata, availability: _availability, ...rest } = vendor
  return rest
}

/** The provider's words first: ours are what this API promises. */
export function metadataOf({ row, code, metadata, vendor }: GatewayError): Record<string, unknown> {
  const told = vendor?.metadata
  return {
    ...(typeof told === 'object' && !Array.isArray(told) ? told : {}),
    error_type: row.errorType,
    reason: code,
    ...metadata,
  }
}

/** What libraries of the Chat format match errors by, beside the type. Their `code` is taken by the status. */
export function matchedMembers({ code, metadata, param }: GatewayError) {
  return { string_code: upstreamWord(metadata.error_type) ?? chatWords[code] ?? code, param }
}

const chatWords: Partial<Record<ErrorCode, string>> = {
  credential_missing: 'invalid_api_key',
  credential_invalid: 'invalid_api_key',
  key_disabled: 'invalid_api_key',
  key_expired: 'invalid_api_key',
  model_unknown: 'model_not_found',
  no_endpoints: 'model_not_found',
  credits_exhausted: 'insufficient_quota',
  key_limit_reached: 'insufficient_quota',
  rate_limited: 'rate_limit_exceeded',
  upstream_rate_limited: 'rate_limit_exceeded',
}

/** Kinds of a provider's refusal that programs react to, under the names they already know. */
function upstreamWord(kind: unknown): string | undefined {
  return kind === 'context_length_exceeded' || kind === 'content_policy_violation' ? kind : undefined
}

/** What went wrong inside is nobody's business. */
export function explainedError({
  row,
  serviceMetadata,
}: GatewayError): Pick<ErrorEnvelope, 'service_metadata'> {
  return serviceMetadata && row.status !== 500 ? { service_metadata: serviceMetadata } : {}
}
