/**
 * The declaration of a type in an SDK: its fields, which of them are required, and the values of those with a closed
 * list.
 */
type Declaration = Map<string, { isRequired: boolean; values: string[] | null }>

const responses = 'openai/resources/responses/responses.d.ts'
const anthropic = '@anthropic-ai/sdk/resources'

export const openaiItems = await readUnion(responses, 'ResponseOutputItem')
export const openaiEvents = await readUnion(responses, 'ResponseStreamEvent')
/** Blocks of both APIs: the beta has more, but requires fewer fields. */
export const anthropicBlocks = await readUnion(`${anthropic}/messages/messages.d.ts`, 'ContentBlock')
export const anthropicBetaBlocks = await readUnion(
  `${anthropic}/beta/messages/messages.d.ts`,
  'BetaContentBlock',
)

/** Finds differences of a value from its declaration: fields that are missing, or have another value. */
export function findDifferences(declared: Map<string, Declaration>, value: object): string[] {
  const fields = value as Record<string, unknown>
  const declaration = declared.get(String(fields.type))
  if (!declaration) return [`type: ${fields.type}`]
  return [...declaration].flatMap(([name, { isRequired, values }]) => {
    const given = fields[name]
    if (given === undefined) return isRequired ? [`${name}: missing`] : []
    return values && typeof given === 'string' && !values.includes(given) ? [`${name}: ${given}`] : []
  })
}

/** The members of a union, by their `type`. */
async function readUnion(path: string, name: string): Promise<Map<string, Declaration>> {
  const source = await Bun.file(`${import.meta.dir}/node_modules/${path}`).text()
  const text = source.replaceAll(/\/\*\*.*?\*\//gs, '')
  const union = new RegExp(`export type ${name} = (.*);`).exec(text)?.[1]?.split(' | ') ?? []
  const members = union.map((member) => readDeclaration(text, member))
  return new Map(members.map((member) => [member.get('type')?.values?.[0] ?? '', member]))
}

function readDeclaration(text: string, member: string): Declaration {
  const [name = '', namespace] = member.split('.').reverse()
  const from = namespace ? text.indexOf(`namespace ${namespace} {`) : 0
  const start = text.slice(from).search(new RegExp(`interface ${name} (?:extends .*)?\\{`))
  if (from < 0 || start < 0) throw new Error(`${member} is not declared`)
  const body = text.slice(text.indexOf('\n', from + start) + 1)
  const [, indent = ''] = /^\s*?( +)\S/.exec(body) ?? []
  const lines = body
    .slice(0, body.indexOf(`\n${indent.slice(4)}}`))
    .matchAll(new RegExp(`^${indent}(\\w+)(\\??): (.*)$`, 'gm'))
  return new Map(
    [...lines].map(([, field = '', optional, type = '']) => [
      field,
      { isRequired: optional === '', values: readLiterals(type) },
    ]),
  )
}

/** Null for a type that is no list of strings. */
function readLiterals(type: string): string[] | null {
  const parts = type
    .replace(/;$/, '')
    .split(' | ')
    .filter((part) => part !== 'null')
  return parts.every((part) => /^'[^']*'$/.test(part)) ? parts.map((part) => part.slice(1, -1)) : null
}
