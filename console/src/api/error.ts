import { reportSessionEnd } from './session-end.ts'

/** The body of the gateway's error responses. */
interface ErrorEnvelope {
  error?: { message?: string; code?: number; metadata?: Record<string, unknown> }
}

export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  readonly requestId: string | null
  readonly metadata: Record<string, unknown>

  constructor(status: number, message: string, requestId: string | null, metadata = {}) {
    super(message)
    this.status = status
    this.requestId = requestId
    this.metadata = metadata
  }

  /** Every failed call of the console ends here, so this is where the end of a session is noticed. */
  static async from(response: Response): Promise<ApiError> {
    if (response.status === 401) reportSessionEnd()
    const text = await response.text()
    const { message, metadata } = readEnvelope(text)?.error ?? {}
    const fallback = `The server answered ${response.status}.`
    return new ApiError(
      response.status,
      message ?? fallback,
      response.headers.get('x-request-id'),
      metadata ?? {},
    )
  }
}

/** Undefined if a proxy answered, and not the gateway. */
function readEnvelope(text: string): ErrorEnvelope | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
