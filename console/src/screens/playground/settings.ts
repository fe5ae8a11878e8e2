export interface Settings {
  system: string
  temperature: number | null
  maxTokens: number | null
  effort: string | null
  format: 'text' | 'json_object' | 'json_schema'
  /** A JSON schema, if that is the format. */
  schema: string
  /** A JSON array, or nothing. */
  tools: string
  /** Whether the reply arrives as it is written. */
  stream: boolean
  sort: string | null
  only: string[]
  allowFallbacks: boolean
  denyTraining: boolean
  zdr: boolean
}

export const defaultSettings: Settings = {
  system: '',
  temperature: null,
  maxTokens: null,
  effort: null,
  format: 'text',
  schema: '',
  tools: '',
  stream: true,
  sort: null,
  only: [],
  allowFallbacks: true,
  denyTraining: false,
  zdr: false,
}

export const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']
export const sorts = ['price', 'throughput', 'latency']

const maxTools = 128
const toolName = /^[\w-]{1,64}$/

type Checked = { value: unknown; problem?: undefined } | { value?: undefined; problem: string }

/** Finds the error in each field that is written as JSON. */
export function findProblems(settings: Settings): { tools?: string; schema?: string } {
  const tools = readTools(settings.tools).problem
  const schema = settings.format === 'json_schema' ? readSchema(settings.schema).problem : undefined
  return { ...(tools && { tools }), ...(schema && { schema }) }
}

export function readTools(text: string): Checked {
  if (text.trim() === '') return { value: undefined }
  const { value, problem } = readJson(text)
  if (problem !== undefined) return { problem }
  if (!Array.isArray(value)) return { problem: 'Tools are a JSON array: [{"type": "function", ...}].' }
  if (value.length > maxTools) return { problem: `At most ${maxTools} tools.` }
  const names = new Set<string>()
  for (const [index, tool] of value.entries()) {
    const found = findToolProblem(tool, names)
    if (found) return { problem: `Tool ${index + 1}: ${found}` }
  }
  return { value: value.length > 0 ? value : undefined }
}

function findToolProblem(tool: unknown, names: Set<string>): string | undefined {
  if (!isObject(tool) || typeof tool.type !== 'string') return 'it needs a "type", such as "function".'
  if (tool.type !== 'function') return
  if (!isObject(tool.function)) return 'it needs a "function" with "name" and "parameters".'
  const { name, parameters } = tool.function
  if (typeof name !== 'string' || !toolName.test(name)) {
    return '"function.name" has 1 to 64 letters, digits, hyphens and underscores.'
  }
  if (names.has(name)) return `"${name}" is there twice.`
  names.add(name)
  return parameters === undefined ? undefined : findSchemaProblem(parameters, '"parameters"')
}

export function readSchema(text: string): Checked {
  const { value, problem } = readJson(text)
  if (problem !== undefined) return { problem }
  const found = findSchemaProblem(value, 'The schema')
  return found ? { problem: found } : { value }
}

function findSchemaProblem(schema: unknown, name: string): string | undefined {
  if (!isObject(schema)) return `${name} must be a JSON schema: an object.`
  if (schema.type !== 'object') return `${name} must have "type": "object".`
  if (schema.properties !== undefined && !isObject(schema.properties)) {
    return `"properties" of the schema must be an object.`
  }
  if (schema.required === undefined) return
  if (!Array.isArray(schema.required)) return '"required" of the schema must be an array of names.'
  const unknown = schema.required.find((name) => !Object.hasOwn(schema.properties ?? {}, String(name)))
  return unknown === undefined ? undefined : `"required" names "${unknown}", which is not in "properties".`
}

function readJson(text: string): Checked {
  try {
    return { value: JSON.parse(text) }
  } catch (error) {
    return { problem: `This is not JSON: ${error instanceof Error ? error.message : error}` }
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Reads the settings of a link: fields that are not of the type of the default are ignored. */
export function readSettings(given: Record<string, unknown>): Settings {
  const text = (name: 'system' | 'schema' | 'tools') => {
    const value = given[name]
    return typeof value === 'string' ? value : defaultSettings[name]
  }
  const number = (name: 'temperature' | 'maxTokens') => {
    const value = given[name]
    return typeof value === 'number' ? value : null
  }
  const choice = (value: unknown, values: string[]) => values.find((one) => one === value) ?? null
  return {
    system: text('system'),
    temperature: number('temperature'),
    maxTokens: number('maxTokens'),
    effort: choice(given.effort, efforts),
    format: given.format === 'json_object' || given.format === 'json_schema' ? given.format : 'text',
    schema: text('schema'),
    tools: text('tools'),
    stream: given.stream !== false,
    sort: choice(given.sort, sorts),
    only: Array.isArray(given.only) ? given.only.filter((one) => typeof one === 'string') : [],
    allowFallbacks: given.allowFallbacks !== false,
    denyTraining: given.denyTraining === true,
    zdr: given.zdr === true,
  }
}

const credentialFields = ['authorization', 'headers', 'api_key', 'token']

/** Removes credentials that server tools may have, and tools that are not JSON, for a link. */
export function removeCredentials(settings: Settings): Settings {
  const { value } = readJson(settings.tools || '[]')
  const tools = JSON.stringify(
    value,
    (name, field) => (credentialFields.includes(name.toLowerCase()) ? undefined : field),
    2,
  )
  return { ...settings, tools: value === undefined || tools === '[]' ? '' : tools }
}
