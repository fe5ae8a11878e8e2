import { z } from 'zod'
import type { Caller } from '../access/caller.ts'
import type { DataRegion } from '../formats/vocabulary.ts'
import type { ClientCodec } from '../formats/wire-format.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { Settings } from '../gateway/settings.ts'
import type { Scope } from '../identity/permissions/grant.ts'
import type { Permission, ScopeLevel } from '../identity/permissions/permissions.ts'
import type { RequestSource } from '../inference/request/content.ts'
import type { RateLimit } from './rate-limit.ts'

/** The access that a caller needs. `public` operations need no credential. */
export type Access = Permission | 'public'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

type Schema = z.ZodType
type SchemaOutput<S> = S extends Schema ? z.output<S> : undefined
type SchemaInput<S> = S extends Schema ? z.input<S> : undefined

/** The input of a handler: parsed, validated and authorized. */
export interface OperationContext<A extends Access, P, Q, B> {
  gateway: Gateway
  caller: A extends 'public' ? null : Caller
  /** Part of the organization in which the caller has the permission of the operation. */
  scope: Scope
  params: SchemaOutput<P>
  query: SchemaOutput<Q>
  body: SchemaOutput<B>
  /** The body as received: its JSON text and the value parsed from it. */
  source: RequestSource
  /** Name of the deployment in Azure paths. It is already the model of a JSON body. */
  deployment: string | undefined
  httpRequest: Request
  region: DataRegion
}

/** A request or response body that is not JSON: handled by the operation, described in openapi.json. */
export interface RawContent {
  contentType: string
}

/** A request body that the handler reads. An inference operation without a limit has that of prompts. */
export interface RawBody extends RawContent {
  schema: Schema
  maxBytes?: (settings: Settings) => number
}

/** Options of inference: bodies of prompt size with unknown fields allowed, and errors in the client's format. */
interface InferenceOptions extends Pick<ClientCodec, 'encodeError' | 'errorSchema'> {
  /** The schema of the body, where the path decides it; throws if the path names what is not offered. */
  selectBody?: (params: Readonly<Record<string, string>>) => Schema
  /** Another format accepted at this path, recognized by a field that only it has. */
  alternateFormat?: { field: string; body: Schema }
  /** True for simple bodies that the schema would return unchanged: they skip validation. */
  isPlain?: (body: unknown) => boolean
  /** The reply is a record, such as a job, that `Idempotency-Key` keeps from being created twice. */
  isCreation?: true
  /** The provider applies the conditions and the idempotency key of the request, which are forwarded to it. */
  isRelayed?: true
  /** No model is called: it is not in the list of requests if it is refused. */
  isDryRun?: true
  /** Adds the path under `/openai/deployments/{deployment}`, where the deployment is the model. */
  deployments?: true
}

interface OperationDeclaration<A extends Access, P, Q, B, R> {
  /** Unique, camelCase: the `operationId` in openapi.json and the label in metrics. */
  id: string
  method: Method
  /** `/keys/{hash}`, served under every base path. */
  path: string
  tag: string
  summary: string
  description?: string
  permission: A
  /**
   * Scope in which the permission is needed, if not the smallest part of an organization in which it can be granted.
   */
  scope?: ScopeLevel
  params?: P
  query?: Q
  /** Headers in openapi.json only: handlers read headers themselves. */
  headers?: Schema
  body?: B
  /** An absent body is read as an empty object. */
  optionalBody?: boolean
  /** A body that is not JSON, read by the handler; next to `body`, where its content type is sent. */
  rawBody?: RawBody
  /** The body has prompts: it may be as large as those of inference, and have any characters. */
  hasPrompts?: true
  inference?: InferenceOptions
  /** The errors of a client format, for its operations without inference. */
  encodeError?: ClientCodec['encodeError']
  errorSchema?: ClientCodec['errorSchema']
  /** Forbids caching of responses, errors included. */
  noStore?: true
  /** A public operation whose path or body is the credential: an address counts only requests that fail. */
  hasOwnCredential?: true
  /** Restricts the operation to members who are signed in: pages of other origins cannot call it. */
  ownOriginOnly?: true
  /** The path is absolute, not under a base path. */
  root?: boolean
  /** Other paths that clients use for it. */
  aliases?: readonly string[]
  status?: number
  /** A schema for JSON, or `RawContent` where the handler builds the whole Response. */
  response: R
  /** Content types of the response other than JSON: a stream, a feed. */
  otherContentTypes?: readonly string[]
  /** Successful statuses besides `status`. */
  otherStatuses?: readonly number[]
  /** Statuses in addition to those of every operation (400, 401, 403, 500). */
  errors?: number[]
  /** Counted once the request is valid. Operations of the same limit share it. */
  rateLimit?: RateLimit
  handle(
    context: OperationContext<A, P, Q, B>,
  ): Promise<R extends Schema ? SchemaInput<R> | Response : Response>
}

/** An operation with its types erased, for the server, openapi.json and the generic tests. */
export interface Operation {
  id: string
  method: Method
  path: string
  tag: string
  summary: string
  description?: string
  permission: Access
  scope?: ScopeLevel
  params?: Schema
  query?: Schema
  headers?: Schema
  body?: Schema
  optionalBody?: boolean
  rawBody?: RawBody
  hasPrompts?: true
  inference?: InferenceOptions
  encodeError?: ClientCodec['encodeError']
  errorSchema?: ClientCodec['errorSchema']
  noStore?: true
  hasOwnCredential?: true
  ownOriginOnly?: true
  root?: boolean
  aliases?: readonly string[]
  status: number
  response: Schema | RawContent
  otherContentTypes?: readonly string[]
  otherStatuses?: readonly number[]
  errors: number[]
  rateLimit?: RateLimit
  handle(context: OperationContext<Access, Schema, Schema, Schema>): Promise<unknown>
}

export function defineOperation<
  const A extends Access,
  R extends Schema | RawContent,
  P extends Schema | undefined = undefined,
  Q extends Schema | undefined = undefined,
  B extends Schema | undefined = undefined,
>(declaration: OperationDeclaration<A, P, Q, B, R>): Operation {
  const { status = 200, errors = [], ...rest } = declaration
  // The server validates with these schemas before it calls handle, so the types hold.
  return { ...rest, status, errors } as unknown as Operation
}

export function isSchema(response: Schema | RawContent): response is Schema {
  return response instanceof z.ZodType
}

/** A request with the values of the `:name` segments of its path. */
export type PathRequest = Request & { params?: Record<string, string> }

/** A route outside the API: an HTML page, or a protocol such as SCIM. */
export interface RawRoute {
  method: Method
  /** `/scim/v2/Users/:id` */
  path: string
  handle(gateway: Gateway, request: PathRequest): Promise<Response>
}
