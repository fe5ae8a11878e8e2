import { type ErrorCode, type ErrorRow, errorTable } from './table.ts'

interface ErrorDetails {
  /** Public: replaces the table's message. */
  message?: string
  /** Public: merged into `error.metadata`. */
  metadata?: Record<string, unknown>
  /** Public: the provider's own error object, for a client of its format. Redacted and bounded. */
  vendor?: Record<string, unknown>
  /** Public: the field of the request that is wrong, as `error.param`. */
  param?: string
  /** Public: why no model is available, as `error.availability`. */
  availability?: Availability
  headers?: Record<string, string>
  /** Private: logged, never sent. */
  cause?: unknown
}

/** The availability of a model, for clients that fall back to another model themselves. */
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
  /** The caller, once authenticated. */
  userId: string | null = null
  /** The attempts that led to the error, for a client that requested them. */
  serviceMetadata: Record<string, unknown> | null = null

  constructor(code: ErrorCode, details: ErrorDetails = {}) {
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

/** An unexpected error is an internal one. */
export function toGatewayError(error: unknown): GatewayError {
  return error instanceof GatewayError ? error : new GatewayError('internal', { cause: error })
}

export function gatewayError(
  code: ErrorCode,
  message?: string,
  metadata?: Record<string, unknown>,
): GatewayError {
  return new GatewayError(code, { ...(message && { message }), ...(metadata && { metadata }) })
}

/** A guardrail refused a request or its reply. */
export function isBlock(error: unknown): error is GatewayError {
  return error instanceof GatewayError && error.code === 'guardrail_blocked'
}

/** The database or the ledger is unavailable. */
export function unavailableError(cause?: unknown): GatewayError {
  return new GatewayError('unavailable', { cause, headers: { 'retry-after': '5' } })
}

export interface FieldIssue {
  field: string
  message: string
}

/** The one form of every 400 about input. The message is that of the first invalid field. */
export function invalidFieldsError([first, ...more]: readonly [FieldIssue, ...FieldIssue[]]): GatewayError {
  return new GatewayError('invalid_request', {
    message: `${first.field}: ${first.message}`,
    metadata: { issues: [first, ...more] },
    param: first.field,
  })
}

export function invalidFieldError(field: string, problem: string): GatewayError {
  return invalidFieldsError([{ field, message: problem }])
}

/** A rate limit of this gateway. Windows begin at multiples of their length. */
export function rateLimitError(message: string, limit: number, windowMs: number, now: number): GatewayError {
  const reset = (Math.floor(now / windowMs) + 1) * windowMs
  return new GatewayError('rate_limited', {
    message,
    headers: {
      'retry-after': String(Math.ceil((reset - now) / 1000)),
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
    /** `code` as client libraries of the Chat format expect it: a string. */
    string_code: string
    param: string | null
    metadata: Record<string, unknown>
    availability?: Availability
  }
  service_metadata?: Record<string, unknown>
  user_id: string | null
}

/** The body sent to the client. The message of a 500 is generic: the details are in the log under the request id. */
export function toErrorEnvelope(error: GatewayError, requestId: string): ErrorEnvelope {
  const { status, type } = error.row
  const message = status === 500 ? `${error.row.message} Request id: ${requestId}` : error.message
  return {
    error: {
      ...vendorFieldsOf(error),
      code: status,
      message,
      type,
      ...toChatErrorFields(error),
      metadata: toErrorMetadata(error),
      ...(error.availability && { availability: error.availability }),
    },
    ...toServiceMetadata(error),
    user_id: error.userId,
  }
}

/** Fields of the provider's error object that the envelope does not define. */
export function vendorFieldsOf({ vendor = {} }: GatewayError): Record<string, unknown> {
  const { code: _code, message: _message, metadata: _metadata, availability: _availability, ...rest } = vendor
  return rest
}

/** The provider's metadata first, so that the fields this API defines win. */
export function toErrorMetadata({ row, code, metadata, vendor }: GatewayError): Record<string, unknown> {
  const vendorMetadata = vendor?.metadata
  return {
    ...(typeof vendorMetadata === 'object' && !Array.isArray(vendorMetadata) ? vendorMetadata : {}),
    error_type: row.errorType,
    reason: code,
    ...metadata,
  }
}

/** Fields that client libraries of the Chat format match errors by. Their `code` is a string; ours is the status. */
export function toChatErrorFields({ code, metadata, param, vendor }: GatewayError) {
  const vendorParam = typeof vendor?.param === 'string' ? vendor.param : null
  return {
    string_code: toKnownErrorType(metadata.error_type) ?? chatErrorCodes[code] ?? code,
    param: param ?? vendorParam,
  }
}

const chatErrorCodes: Partial<Record<ErrorCode, string>> = {
  credential_missing: 'invalid_api_key',
  credential_invalid: 'invalid_api_key',
  key_disabled: 'invalid_api_key',
  key_expired: 'invalid_api_key',
  model_unknown: 'model_not_found',
  no_endpoints: 'model_not_found',
  credits_exhausted: 'insufficient_quota',
  key_limit_reached: 'insufficient_quota',
  member_limit_reached: 'insufficient_quota',
  rate_limited: 'rate_limit_exceeded',
  upstream_rate_limited: 'rate_limit_exceeded',
}

/** Provider rejections that programs react to, under the names of the OpenAI API. */
function toKnownErrorType(kind: unknown): string | undefined {
  return kind === 'context_length_exceeded' || kind === 'content_policy_violation' ? kind : undefined
}

/** Metadata of the service; omitted from a 500, whose internal details stay in the log. */
export function toServiceMetadata({
  row,
  serviceMetadata,
}: GatewayError): Pick<ErrorEnvelope, 'service_metadata'> {
  return serviceMetadata && row.status !== 500 ? { service_metadata: serviceMetadata } : {}
}
