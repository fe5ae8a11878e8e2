import type { Permission } from '../../app/session.tsx'

/** A JSON schema, as far as it is shown. */
export interface Schema {
  $ref?: string
  type?: string | string[]
  description?: string
  format?: string
  enum?: unknown[]
  const?: unknown
  default?: unknown
  examples?: unknown[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  additionalProperties?: Schema | boolean
  anyOf?: Schema[]
  oneOf?: Schema[]
  allOf?: Schema[]
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
}

export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required?: boolean
  description?: string
  schema: Schema
}

type Content = Record<string, { schema?: Schema }>

interface OperationObject {
  operationId: string
  summary: string
  description?: string
  tags: string[]
  parameters?: Parameter[]
  requestBody?: { required?: boolean; content: Content }
  responses: Record<string, { description: string; content?: Content }>
  servers?: { url: string }[]
  'x-headgate-permission'?: Permission
  'x-headgate-scope'?: 'organization'
}

/** openapi.json, as far as it is shown. */
export interface ApiDocument {
  info: { version: string }
  tags: { name: string }[]
  paths: Record<string, Record<string, OperationObject>>
  components: { schemas: Record<string, Schema> }
}

/** An operation of the API. */
export interface Operation extends Omit<OperationObject, 'operationId' | 'tags'> {
  id: string
  tag: string
  /** The method in capitals. */
  method: string
  path: string
  /** The text that the search covers, in lower case. */
  text: string
}

export function listOperations({ paths }: ApiDocument): Operation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, tags, ...rest }]) => {
      const operation = { ...rest, id: operationId, tag: tags[0] ?? '', method: method.toUpperCase(), path }
      return { ...operation, text: searchTextOf(operation) }
    }),
  )
}

function searchTextOf(operation: Omit<Operation, 'text'>): string {
  const { id, tag, method, path, summary, description = '', parameters = [], requestBody } = operation
  const fields = Object.values(requestBody?.content ?? {}).flatMap(({ schema }) =>
    Object.keys(schema?.properties ?? {}),
  )
  const names = [...parameters.map(({ name }) => name), ...fields, requestBody?.content ? 'body' : '']
  const permission = operation['x-headgate-permission'] ?? ''
  return [id, tag, method, path, summary, description, permission, ...names].join(' ').toLowerCase()
}

/** Operations that have every word, in the order of the document. */
export function searchOperations(operations: Operation[], query: string): Operation[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  return operations.filter(({ text }) => words.every((word) => text.includes(word)))
}

export function groupByTag(operations: Operation[]): [tag: string, operations: Operation[]][] {
  return [...Map.groupBy(operations, ({ tag }) => tag)]
}

/** The operation of a call such as `GET /keys/abc`: a path without a parameter goes before one with it. */
export function findByCall(operations: Operation[], call: string): Operation | undefined {
  const [method = '', path = ''] = call.split(' ')
  const matching = operations.filter(
    (operation) => operation.method === method.toUpperCase() && matchesPath(operation.path, path),
  )
  return matching.sort((a, b) => countParameters(a.path) - countParameters(b.path))[0]
}

function matchesPath(template: string, path: string): boolean {
  const [expected, actual] = [template.split('/'), path.split('/')]
  return (
    expected.length === actual.length &&
    expected.every((segment, index) => segment.startsWith('{') || segment === actual[index])
  )
}

function countParameters(template: string): number {
  return template.split('{').length
}

/** The base of the operation's paths, below the address of the server. */
export function basePathOf({ servers }: Operation): string {
  return servers ? '' : 'api/v1'
}
