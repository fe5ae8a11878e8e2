import { z } from 'zod'
import type { Gateway } from '../app/gateway.ts'
import type { DataRegion } from '../catalogue/vocabulary.ts'
import type { ClientCodec } from '../dialects/dialect.ts'
import type { Caller } from '../pipeline/request/authenticate.ts'
import type { RequestSource } from '../pipeline/request/content.ts'

/**
 * Who may call: `public` needs no key, `any` takes every valid key, `inference` and `management` one
 * kind, `operator` a management key of the organization that runs this installation.
 */
export type Access = 'public' | 'any' | 'inference' | 'management' | 'operator'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

type Schema = z.ZodType
type SchemaOutput<S> = S extends Schema ? z.output<S> : undefined
type SchemaInput<S> = S extends Schema ? z.input<S> : undefined

/** What a handler is given: parsed, checked, and authorised. */
export interface OperationContext<A extends Access, P, Q, B> {
  gateway: Gateway
  caller: A extends 'public' ? null : Caller
  params: SchemaOutput<P>
  query: SchemaOutput<Q>
  body: SchemaOutput<B>
  /** The body as it came: its JSON, and what that was parsed into. */
  source: RequestSource
  httpRequest: Request
  region: DataRegion
}

/** An answer that is not JSON, or a body that is not: handled by the operation itself, described here. */
export interface RawContent {
  contentType: string
}

/** For requests that reach a model: any size a prompt may have, any field, and errors in the words of their format. */
interface InferenceOptions extends Pick<ClientCodec, 'encodeError' | 'errorSchema'> {
  /** Another format whose bodies are taken here too, recognised by a field that only it has. */
  alternateFormat?: { field: string; body: Schema }
  /** Says of the simplest bodies that the schema would accept them as they are. */
  isPlain?: (body: unknown) => boolean
  /** Also served under `/openai/deployments/{deployment}`, where the deployment is the model. */
  deployments?: true
}

interface OperationDeclaration<A extends Access, P, Q, B, R> {
  /** Unique, camelCase: the name of the operation in openapi.json and metrics. */
  id: string
  method: Method
  /** `/keys/{hash}`, under every base path the server offers. */
  path: string
  tag: string
  summary: string
  description?: string
  access: A
  params?: P
  query?: Q
  /** Only described: headers are read where they are needed. */
  headers?: Schema
  body?: B
  /** A request without a body is one with an empty object. */
  optionalBody?: boolean
  /** A body that is not JSON, read by the handler itself. */
  rawBody?: RawContent & { schema: Schema; maxBytes: number }
  inference?: InferenceOptions
  /** For operations of a format that reach no model: its errors. */
  encodeError?: ClientCodec['encodeError']
  errorSchema?: ClientCodec['errorSchema']
  /** The path is as it stands here, under no base path. */
  root?: boolean
  /** Other paths that clients know it by. */
  aliases?: readonly string[]
  status?: number
  /** A schema for JSON; a `Raw` where the handler makes the whole Response. */
  response: R
  /** Content types the answer may have beside JSON: a stream, a feed. */
  otherContentTypes?: readonly string[]
  /** Statuses beyond those every operation can give (400, 401, 403, 500). */
  errors?: number[]
  handle(
    context: OperationContext<A, P, Q, B>,
  ): Promise<R extends Schema ? SchemaInput<R> | Response : Response>
}

/** An operation with its types erased: what the server, openapi.json and the generic tests work from. */
export interface Operation {
  id: string
  method: Method
  path: string
  tag: string
  summary: string
  description?: string
  access: Access
  params?: Schema
  query?: Schema
  headers?: Schema
  body?: Schema
  optionalBody?: boolean
  rawBody?: RawContent & { schema: Schema; maxBytes: number }
  inference?: InferenceOptions
  encodeError?: ClientCodec['encodeError']
  errorSchema?: ClientCodec['errorSchema']
  root?: boolean
  aliases?: readonly string[]
  status: number
  response: Schema | RawContent
  otherContentTypes?: readonly string[]
  errors: number[]
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
  // The server parses with these very schemas before it calls handle: the types are true by construction.
  return { ...rest, status, errors } as unknown as Operation
}

export function isSchema(response: Schema | RawContent): response is Schema {
  return response instanceof z.ZodType
}

/** A request whose path was matched, with the values of its `:name` segments. */
export type PathRequest = Request & { params?: Record<string, string> }

/** Something served beside the API: an HTML page, or a protocol with rules of its own. */
export interface RawRoute {
  method: Method
  /** `/scim/v2/Users/:id` */
  path: string
  handle(gateway: Gateway, request: PathRequest): Promise<Response>
}
