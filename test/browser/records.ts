import { loadOperations } from '../../src/api/all.ts'
import { infoOf } from '../../src/identity/permissions/permissions.ts'
import type { TestServer } from '../support/harness.ts'
import { makeSample } from '../support/samples.ts'
import { createSessionHeaders } from '../support/sessions.ts'

const operations = await loadOperations()

/** Makes a text for a field of a record, with a word to recognize it by. */
export type TextFactory = (word: string, field: string) => string

const creating = /^(create|put|assign|add|grant|upload)/
/** Operations that change how the owner signs in, need a machine with containers, or create nothing that is stored. */
const excluded = /^(createAccount|createAuthCode|createBatch|createMessageBatch|createScimSyncJob)/

/** Fields that people and clients fill with text. */
const textFields = new Set([
  'name',
  'first_name',
  'last_name',
  'description',
  'note',
  'content',
  'input',
  'prompt',
  'topic',
])

/** Creates at least one record of everything that the API can create, with texts of this kind where it accepts them. */
export async function createRecords(server: TestServer, makeText: TextFactory): Promise<void> {
  const { own } = server
  await server.call('PATCH', `/workspaces/${own.workspace.id}`, {
    body: { is_observability_io_logging_enabled: true, io_logging_sampling_rate: 1 },
  })
  for (const { id, method, permission, tag } of operations) {
    if (!creating.test(id) || excluded.test(id) || tag === 'Containers') continue
    const kind = permission === 'public' ? 'none' : infoOf(permission).keys
    const access =
      kind === 'none'
        ? { key: null, headers: await createSessionHeaders(server, own.owner) }
        : { key: kind === 'inference' ? own.inferenceKey : own.managementKey }
    const sample = await makeSample(server, id, own)
    const created = await server.call(method, sample.path, {
      ...access,
      body: replaceTexts(sample.body, makeText),
    })
    // Some names allow only letters and digits.
    if (created.status === 400) await server.call(method, sample.path, { ...access, body: sample.body })
  }
  const names = { first_name: makeText('first', 'name'), last_name: makeText('last', 'name') }
  await server.call('PATCH', `/organization/members/${own.owner.id}`, { body: names })
  await sendRequests(server, makeText)
}

/** A reply, a failure and a refusal, with everything that a client can say about itself. */
async function sendRequests(server: TestServer, makeText: TextFactory): Promise<void> {
  const created = await server.call('POST', '/keys', { body: { name: makeText('key', 'name'), limit: 0.5 } })
  const send = (content: string, changes: object = {}) =>
    server.call('POST', '/chat/completions', {
      key: created.body.key,
      headers: {
        'user-agent': toHeader(makeText('agent', 'header')),
        'x-title': toHeader(makeText('app', 'header')),
        'http-referer': 'https://app.example.com/<script>',
      },
      body: {
        model: 'sandbox/echo',
        messages: [
          { role: 'system', content: makeText('instructions', 'content') },
          { role: 'user', content },
        ],
        user: makeText('user', 'user'),
        metadata: { tag: makeText('tag', 'metadata') },
        ...changes,
      },
    })
  await send(makeText('prompt', 'content'))
  await send(`${makeText('failure', 'content')} sandbox:error=500`)
  await send(makeText('refusal', 'content'), { max_tokens: 10_000_000 })
}

function replaceTexts(value: unknown, makeText: TextFactory, field = ''): unknown {
  if (typeof value === 'string') return textFields.has(field) ? makeText(value, field) : value
  if (Array.isArray(value)) return value.map((item) => replaceTexts(item, makeText, field))
  if (value instanceof FormData) return renameFiles(value, makeText)
  if (value === null || typeof value !== 'object') return value
  const entries = Object.entries(value).map(([key, item]) => [key, replaceTexts(item, makeText, key)])
  return Object.fromEntries(entries)
}

function renameFiles(form: FormData, makeText: TextFactory): FormData {
  const file = form.get('file')
  if (file instanceof File)
    form.set('file', new File([file], `${makeText('file', 'file')}.txt`, { type: file.type }))
  return form
}

/** Headers carry bytes. */
function toHeader(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}
