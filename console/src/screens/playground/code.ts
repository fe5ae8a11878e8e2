import { curlOf } from '../../api/call.ts'

export interface CodeSample {
  label: string
  language: string
  code: string
}

const keyVariable = 'HEADGATE_KEY'

/** A request to POST /chat/completions as code. `base` is the address of the API. No key is in it. */
export function listSamples(body: object, base: string): CodeSample[] {
  return [
    {
      label: 'curl',
      language: 'bash',
      code: curlOf({ method: 'POST', path: '/chat/completions', body }, base),
    },
    { label: 'Python', language: 'python', code: writePython(body, base) },
    { label: 'TypeScript', language: 'typescript', code: writeTypeScript(body, base) },
  ]
}

/** Fields that the OpenAI libraries declare. That for Python takes others in `extra_body`. */
const libraryFields = new Set([
  'model',
  'messages',
  'temperature',
  'max_tokens',
  'response_format',
  'tools',
  'stream',
])

function writePython(body: object, base: string): string {
  const entries = Object.entries(body)
  const known = entries.filter(([name]) => libraryFields.has(name))
  const others = entries.filter(([name]) => !libraryFields.has(name))
  const fields = others.length > 0 ? [...known, ['extra_body', Object.fromEntries(others)] as const] : known
  const args = fields.map(([name, value]) => `    ${name}=${toPython(value, '    ')},`).join('\n')
  const isStream = 'stream' in body && body.stream === true
  const end = isStream
    ? `for chunk in completion:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="")`
    : 'print(completion.choices[0].message.content)'
  return `import os
from openai import OpenAI

client = OpenAI(base_url=${JSON.stringify(base)}, api_key=os.environ["${keyVariable}"])
completion = client.chat.completions.create(
${args}
)
${end}`
}

/** A value of JSON as Python writes it. */
function toPython(value: unknown, indent: string): string {
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value !== 'object') return JSON.stringify(value)
  const inner = `${indent}    `
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  const lines = Array.isArray(value)
    ? value.map((item) => toPython(item, inner))
    : Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}: ${toPython(item, inner)}`)
  if (lines.length === 0) return open + close
  return `${open}\n${lines.map((line) => `${inner}${line},`).join('\n')}\n${indent}${close}`
}

function writeTypeScript(body: object, base: string): string {
  const isStream = 'stream' in body && body.stream === true
  const end = isStream
    ? `for await (const chunk of completion) {
  process.stdout.write(chunk.choices[0]?.delta.content ?? '')
}`
    : 'console.log(completion.choices[0]?.message.content)'
  const fields = Object.entries(body).map(([name, value]) => {
    const line = `  ${name}: ${JSON.stringify(value, null, 2).replaceAll('\n', '\n  ')},`
    return libraryFields.has(name) ? line : `  // @ts-expect-error: not declared by the library\n${line}`
  })
  return `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: ${JSON.stringify(base)}, apiKey: process.env.${keyVariable} })
const completion = await client.chat.completions.create({
${fields.join('\n')}
})
${end}`
}
