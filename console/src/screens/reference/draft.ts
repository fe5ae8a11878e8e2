import type { Call } from '../../api/call.ts'
import { type ApiDocument, basePathOf, type Operation, type Parameter, type Schema } from './document.ts'
import { createSample, listFields, resolveSchema } from './schema.ts'

/** The kinds of bodies that can be filled in. */
export type BodyKind = 'none' | 'json' | 'form' | 'multipart' | 'file'

const bodyTypes: [type: string, kind: BodyKind][] = [
  ['application/json', 'json'],
  ['multipart/form-data', 'multipart'],
  ['application/x-www-form-urlencoded', 'form'],
  ['application/octet-stream', 'file'],
]

/** The values that a person has entered. */
export interface Draft {
  /** Values by place and name; empty ones are not sent. */
  parameters: Record<string, string>
  json: string
  fields: Record<string, string | File>
  file: File | null
}

export interface BodyShape {
  kind: BodyKind
  type: string
  schema: Schema
  isRequired: boolean
}

export function bodyShapeOf({ requestBody }: Operation): BodyShape {
  const content = requestBody?.content ?? {}
  const [type = '', kind = 'none'] = bodyTypes.find(([candidate]) => content[candidate]) ?? []
  const schema = content[type]?.schema ?? {}
  return { kind, type, schema, isRequired: requestBody?.required ?? false }
}

export function parameterKey({ in: place, name }: Parameter): string {
  return `${place} ${name}`
}

/** Initial values: a request that the sandbox answers. */
const firstValues: Record<string, unknown> = {
  model: 'sandbox/echo',
  messages: [{ role: 'user', content: 'Hello' }],
  contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
  input: 'Hello',
  prompt: 'Hello',
  max_tokens: 100,
}
/** Useful though not required. */
const alwaysSent = ['model', 'input']

export function createDraft(document: ApiDocument, operation: Operation): Draft {
  const { kind, schema } = bodyShapeOf(operation)
  const json = kind === 'json' ? JSON.stringify(createBody(document, schema), null, 2) : ''
  return { parameters: {}, json, fields: {}, file: null }
}

function createBody(document: ApiDocument, schema: Schema): unknown {
  const sample = createSample(document, schema)
  if (typeof sample !== 'object' || sample === null || Array.isArray(sample)) return sample
  const known = listFields(document, schema).map(({ field }) => field)
  const filled = known.filter(
    (field) => field in firstValues && (field in sample || alwaysSent.includes(field)),
  )
  return { ...sample, ...Object.fromEntries(filled.map((field) => [field, firstValues[field]])) }
}

/** The fields of a form: those with a file, and those with text. */
export function listFormFields(document: ApiDocument, schema: Schema) {
  return listFields(document, schema).map(({ field, declared, isRequired }) => {
    const { schema: resolved } = resolveSchema(document, declared)
    return {
      name: field,
      isRequired,
      isFile: resolved.format === 'binary',
      description: resolved.description,
    }
  })
}

/** Finds the reason the request cannot be sent; null if it can. */
export function findProblem(operation: Operation, draft: Draft): string | null {
  const missing = operation.parameters?.find(
    (parameter) => parameter.required && !draft.parameters[parameterKey(parameter)],
  )
  if (missing) return `Fill in ${missing.name}.`
  const { kind, isRequired } = bodyShapeOf(operation)
  if (kind === 'file' && isRequired && !draft.file) return 'Choose a file.'
  if (kind !== 'json' || (draft.json.trim() === '' && !isRequired)) return null
  try {
    JSON.parse(draft.json)
    return null
  } catch {
    return 'The body is not valid JSON.'
  }
}

/** The request as a call, which can be shown as a command. */
export function callOfDraft(operation: Operation, draft: Draft): Call {
  const { kind } = bodyShapeOf(operation)
  const valuesIn = (place: Parameter['in']) =>
    Object.fromEntries(
      (operation.parameters ?? [])
        .filter((parameter) => parameter.in === place && draft.parameters[parameterKey(parameter)])
        .map((parameter) => [parameter.name, draft.parameters[parameterKey(parameter)] ?? '']),
    )
  const pathValues = valuesIn('path')
  const [query, headers] = [valuesIn('query'), valuesIn('header')]
  const path = operation.path.replace(/\{(\w+)\}/g, (placeholder, name) =>
    pathValues[name] ? encodeURIComponent(pathValues[name]) : placeholder,
  )
  const isForm = kind === 'form' || kind === 'multipart'
  return {
    method: operation.method,
    path,
    ...(Object.keys(query).length > 0 && { query }),
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(kind === 'json' && draft.json.trim() !== '' && { body: parseLoosely(draft.json) }),
    ...(isForm && { form: describeForm(draft.fields) }),
  }
}

/** Parses a body, which may not be JSON yet while it is being typed. */
function parseLoosely(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function describeForm(fields: Draft['fields']): Record<string, string> {
  const entries = Object.entries(fields).filter(([, value]) => value !== '')
  return Object.fromEntries(
    entries.map(([name, value]) => [name, typeof value === 'string' ? value : `@${value.name}`]),
  )
}

/** The body that is sent, and its type where the browser does not add it. */
export function encodeBody(operation: Operation, draft: Draft): { body?: BodyInit; contentType?: string } {
  const { kind, type } = bodyShapeOf(operation)
  const fields = Object.entries(draft.fields).filter(([, value]) => value !== '')
  switch (kind) {
    case 'json':
      return draft.json.trim() === '' ? {} : { body: draft.json, contentType: type }
    case 'file':
      return draft.file ? { body: draft.file, contentType: type } : {}
    case 'form':
      return { body: new URLSearchParams(fields.map(([name, value]) => [name, String(value)])) }
    case 'multipart': {
      const body = new FormData()
      for (const [name, value] of fields) body.append(name, value)
      return { body }
    }
    default:
      return {}
  }
}

/** The address that the paths of the operation are below. */
export function baseUrlOf(operation: Operation, site: string): string {
  return new URL(basePathOf(operation), site).href.replace(/\/$/, '')
}
