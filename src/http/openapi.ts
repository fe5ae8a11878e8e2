import { z } from 'zod'
import { createDocument, type ZodOpenApiOperationObject, type ZodOpenApiPathsObject } from 'zod-openapi'
import { infoOf } from '../identity/permissions/permissions.ts'
import { serverToolSchema } from '../inference/tools/schema.ts'
import { version } from '../platform/version.ts'
import { isIdempotencySupported } from './idempotency.ts'
import { isSchema, type Operation } from './operation.ts'
import { describeRateLimit } from './rate-limit.ts'

const statusTexts: Record<number, string> = {
  206: 'The requested part',
  400: 'Invalid or missing parameters, or an origin that is not allowed',
  401: 'The credential is missing, invalid, disabled or expired',
  402: 'Insufficient credits, or the limit of the key is reached',
  403: 'The permission is missing',
  404: 'The resource does not exist',
  408: 'The request or the provider timed out',
  409: 'The request conflicts with the current state of the resource',
  412: 'The record has changed: If-Match is the ETag of another version',
  413: 'The request body is too large',
  415: 'The encoding of the request body is not supported',
  416: 'The requested range is outside of the file',
  422: 'The provider could not process the request, or the Idempotency-Key was used for another one',
  429: 'Rate limited by the gateway or the provider',
  500: 'Internal server error',
  502: 'The provider failed or sent an invalid reply',
  503: 'The gateway is temporarily unavailable, or no available provider meets the requirements',
}

const keyTexts = {
  any: 'an inference key, a management key or ',
  inference: 'an inference key or ',
  management: 'a management key or ',
  none: '',
}

function describeAccess({ permission, scope }: Operation): string {
  if (permission === 'public') return 'No key is required.'
  const { keys, operatorOnly } = infoOf(permission)
  const owner = operatorOnly ? ' of the organization that operates this installation' : ''
  const place = scope === 'organization' ? ' in the whole organization' : ''
  return `Requires the permission \`${permission}\`${place}: ${keyTexts[keys]}the session of a member${owner}.`
}

export type OpenApiDocument = ReturnType<typeof createDocument>

/** Built from the operations alone, so that it cannot differ from them. */
export function buildOpenApiDocument(operations: Operation[]): OpenApiDocument {
  const paths: ZodOpenApiPathsObject = {}
  for (const operation of operations) {
    paths[operation.path] = {
      ...paths[operation.path],
      [operation.method.toLowerCase()]: describeOperation(operation),
    }
  }
  return createDocument({
    openapi: '3.1.0',
    info: {
      title: 'Headgate',
      // Of the API, which is not that of the software.
      version: '1.0.0',
      'x-headgate-version': version,
      description:
        'One API for all model providers, with keys, credits, budgets and policies.\n\nAmounts are US dollars, rounded to nine decimals. Strings must not contain U+0000, and objects must not have a key `__proto__`. Unknown query parameters are ignored; a parameter must not be repeated. Models, providers, keys, members and workspaces must exist: a name or id that does not exist is rejected with 400 or 404.\n\nRequests of one key, and requests of one address without a valid key, are limited per minute: beyond the limit they are 429 with `Retry-After`.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/api/v1' }, { url: '/v1', description: 'The same API for clients that append /v1' }],
    tags: [...new Set(operations.map((operation) => operation.tag))].map((name) => ({ name })),
    security: [{ bearer: [] }],
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', description: 'An API key' } },
      schemas: { Error: envelopeSchema, ServerTool: serverToolSchema },
    },
    paths,
  })
}

function describeOperation(operation: Operation): ZodOpenApiOperationObject {
  const aliases = operation.aliases && `Also at ${operation.aliases.map((path) => `\`${path}\``).join(', ')}.`
  const limit = operation.rateLimit && describeRateLimit(operation.rateLimit)
  const description = [operation.description, aliases, describeAccess(operation), limit]
    .filter(Boolean)
    .join('\n\n')
  return {
    operationId: operation.id,
    tags: [operation.tag],
    summary: operation.summary,
    description,
    ...(operation.permission === 'public'
      ? { security: [] }
      : { 'x-headgate-permission': operation.permission }),
    ...(operation.scope === 'organization' && { 'x-headgate-scope': operation.scope }),
    ...(operation.root && { servers: [{ url: '/' }] }),
    requestParams: {
      ...(operation.params && { path: operation.params as z.ZodObject }),
      ...(operation.query && { query: operation.query as z.ZodObject }),
      ...describeHeaders(operation),
    },
    ...describeRequestBody(operation),
    responses: {
      ...Object.fromEntries(
        [operation.status, ...(operation.otherStatuses ?? [])].map((status) => [
          String(status),
          { description: statusTexts[status] ?? 'OK', content: describeContent(operation) },
        ]),
      ),
      ...Object.fromEntries(
        listErrorStatuses(operation).map((status) => [
          String(status),
          {
            description: statusTexts[status] ?? 'Error',
            content: { 'application/json': { schema: errorSchemaOf(operation) } },
          },
        ]),
      ),
    },
  }
}

const idempotencyHeaders = z.object({
  'Idempotency-Key': z.string().min(1).max(255).optional().meta({
    description: 'A repeated request with the same key gets the response of the first one, for 24 hours.',
  }),
})

const conditionHeaders = z.object({
  'If-Match': z.string().optional().meta({
    description: 'The ETag of the record as it was read; if it has changed since, the response is 412.',
  }),
})

/** A change of a record that can be read at the same path. */
function isConditional({ method, params }: Operation): boolean {
  return params !== undefined && method !== 'GET' && method !== 'POST'
}

function describeHeaders(operation: Operation) {
  const headers = operation.headers as z.ZodObject | undefined
  const common = isIdempotencySupported(operation)
    ? idempotencyHeaders
    : isConditional(operation)
      ? conditionHeaders
      : null
  return common ? { header: common.extend(headers?.shape ?? {}) } : headers && { header: headers }
}

function describeRequestBody(operation: Operation) {
  const { rawBody, body } = operation
  if (!rawBody && !body) return {}
  const content = {
    ...(rawBody && { [rawBody.contentType]: { schema: rawBody.schema } }),
    ...(body && { 'application/json': { schema: body } }),
  }
  return { requestBody: { required: operation.optionalBody !== true, content } }
}

function describeContent(operation: Operation) {
  const { response, otherContentTypes = [] } = operation
  const otherContent = Object.fromEntries(otherContentTypes.map((type) => [type, {}]))
  if (isSchema(response)) return { 'application/json': { schema: response }, ...otherContent }
  return { [response.contentType]: {}, ...otherContent }
}

function errorSchemaOf({ inference, errorSchema }: Operation) {
  return inference?.errorSchema ?? errorSchema ?? { $ref: '#/components/schemas/Error' }
}

/** The statuses that follow from the parts of an operation, and those it declares. */
function listErrorStatuses(operation: Operation): number[] {
  const { params, query, body, rawBody, permission, errors } = operation
  // Each needs the database, which may be unavailable.
  const statuses = new Set([429, 500, 503, ...errors])
  if (params || query || body || rawBody) statuses.add(400)
  if (body || rawBody) statuses.add(413).add(415)
  if (isConditional(operation)) statuses.add(412)
  if (isIdempotencySupported(operation)) statuses.add(409).add(422)
  if (permission !== 'public') statuses.add(401).add(403)
  return [...statuses].sort((a, b) => a - b)
}

const envelopeSchema = {
  type: 'object' as const,
  required: ['error'],
  properties: {
    error: {
      type: 'object' as const,
      required: ['code', 'message'],
      properties: {
        code: { type: 'integer' as const, description: 'The HTTP status' },
        message: { type: 'string' as const },
        type: { type: 'string' as const },
        metadata: {
          type: ['object', 'null'] as ('object' | 'null')[],
          properties: {
            error_type: { type: 'string' as const },
            reason: { type: 'string' as const, description: 'See docs/errors.md' },
          },
        },
      },
    },
    service_metadata: { type: 'object' as const },
    user_id: { type: ['string', 'null'] as ('string' | 'null')[] },
  },
}
