import type { z } from 'zod'
import type { Clock } from '../../platform/time/clock.ts'
import type { ProviderSettings } from '../provider-settings.ts'

/** A body that is too large for memory: it is read as it is sent. */
export interface StreamedBody {
  /** Null: it is sent in chunks. */
  length: number | null
  open(): ReadableStream<Uint8Array>
}

/** JSON or another text, encoded bytes, a stream, or nothing. */
export type UpstreamBody = string | Uint8Array<ArrayBuffer> | StreamedBody | null

export function isStreamed(body: UpstreamBody): body is StreamedBody {
  return typeof body === 'object' && body !== null && 'open' in body
}

/** A request that only lacks its signature. */
export interface SignableRequest {
  method: string
  url: string
  headers: HeaderMap
  body: UpstreamBody
}

export type HeaderMap = Readonly<Record<string, string>>

/** Facts that a scheme may need besides the request and the credential. */
export interface AuthContext<Options> {
  /** The header a token goes into. */
  keyHeader: string
  /** The word before a token in `Authorization`; `Bearer` when absent. */
  keyScheme?: string
  /** Region, project and the like of the address in use. */
  settings: ProviderSettings
  /** The provider's declaration in `auth`. */
  options: Options
  /** Private addresses that the operator allows requests to. */
  allowPrivate: readonly string[]
}

/** Signs with credentials of one kind, and caches the tokens they were exchanged for. */
export interface Signer<C, Options> {
  sign(request: SignableRequest, credential: C, context: AuthContext<Options>): HeaderMap | Promise<HeaderMap>
  /** Must be called after a 401. A signer without it caches no tokens. */
  forgetToken?(credential: C, context: AuthContext<Options>): void
}

/** A credential in JSON, accepted by the providers that declare its scheme in `auth`. */
export interface CredentialFormat<C, Options, Fields extends z.ZodRawShape> {
  /** The name on the pages of providers. */
  label: string
  schema: z.ZodType<C>
  /** The provider settings that the credential itself implies. */
  settingsOf(credential: C): ProviderSettings
  /** Fields of a provider in headgate.yaml that change its options. */
  overrides?: {
    fields: Fields
    apply(options: Options, declared: z.output<z.ZodObject<Fields>>): Options
  }
}

/** A way to authenticate to a provider. `Options` is what a provider declares to use it. */
export interface AuthScheme<
  C extends { kind: string },
  Options extends { scheme: C['kind'] } = never,
  Fields extends z.ZodRawShape = Record<never, never>,
> {
  /** The kind of the credentials it signs with. */
  kind: C['kind']
  /** Absent where no JSON is involved: a plain token, or no credential at all. */
  format?: CredentialFormat<C, Options, Fields>
  listSecrets(credential: C): string[]
  /** The part that people recognize a credential by; it is only shown masked. */
  identifierOf(credential: C): string
  createSigner(clock: Clock): Signer<C, Options>
  /** The headers of every request with a credential, in a scheme that signs nothing of it. */
  headersOf?(credential: C, context: AuthContext<unknown>): HeaderMap
}

/** The request could not be authenticated. The message contains nothing of the credential. */
export class ProviderAuthError extends Error {}
