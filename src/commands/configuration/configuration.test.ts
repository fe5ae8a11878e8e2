import { expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeOnEachDatabase } from '../../../test/support/harness.ts'
import { kinds } from './all.ts'
import { applyPlan, type NewSecret } from './apply.ts'
import { createApiClient } from './client.ts'
import { parseDocuments } from './documents.ts'
import { exportState } from './export.ts'
import { type FieldsOf, loadFields } from './fields.ts'
import { buildPlan } from './plan.ts'
import { describePlan } from './report.ts'
import { appendSecret } from './secrets-file.ts'
import { State } from './state.ts'
import type { PlanOptions } from './step.ts'

const everyKind = await Bun.file(
  new URL('../../../test/fixtures/configuration/every-kind.yaml', import.meta.url),
).text()

type Body = Record<string, unknown>

const limit = (name: string, amount: number) =>
  `kind: Limit\nname: ${name}\nspec: { measure: requests, window: minute, amount: ${amount} }\n`

const environment = {
  VENDOR_KEY: 'vendor-secret-1234567890',
  CALLBACK_SECRET: 'callback-secret-1234567890',
  TRACES_KEY: 'traces-secret-1234567890',
  CLIENT_SECRET: 'client-secret-1234567890',
  SIGNING_SECRET: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
}

describeOnEachDatabase('configuration files', (server) => {
  const fields = loadFields()

  async function open(key: string, text: string, options: Partial<PlanOptions> = {}) {
    const fieldsOf: FieldsOf = await fields
    const documents = parseDocuments(text, 'test.yaml')
    const state = new State(createApiClient(server().url, key), fieldsOf)
    await state.load(new Set(kinds.map(({ kind }) => kind)), null)
    const all = { set: 'platform', takeOver: false, needsSecrets: true, environment, ...options }
    return { state, fieldsOf, plan: buildPlan(documents, state, fieldsOf, all) }
  }

  async function apply(key: string, text: string, options: Partial<PlanOptions> & { prune?: boolean } = {}) {
    const { plan, state, fieldsOf } = await open(key, text, options)
    expect(plan.problems).toEqual([])
    const secrets: NewSecret[] = []
    const keepSecret = async (secret: NewSecret) => void secrets.push(secret)
    const outcome = await applyPlan(plan, state, fieldsOf, { prune: options.prune === true, keepSecret })
    return { outcome, secrets, plan }
  }

  const ownKey = () => server().own.managementKey
  const textOf = async (text: string, options: Partial<PlanOptions> = {}) =>
    describePlan((await open(ownKey(), text, options)).plan, true).text
  const problemsOf = async (text: string, options: Partial<PlanOptions> = {}) =>
    (await open(ownKey(), text, options)).plan.problems
  const limitsOf = async () =>
    (await server().call('GET', '/limits')).body.data.filter(({ source }: Body) => source === 'limit')

  test('a set of files with every kind is applied once, and a second time changes nothing', async () => {
    const key = server().own.managementKey
    const first = await apply(key, everyKind)
    expect(first.outcome.failed?.message).toBeUndefined()
    expect(first.secrets.map(({ kind }) => kind).sort()).toEqual([
      'Invitation',
      'Key',
      'Key',
      'ManagementKey',
    ])
    const second = await open(key, everyKind)
    expect(describePlan(second.plan, true).text).toBe('No differences.')
    const again = await apply(key, everyKind)
    expect(again.outcome.done).toEqual([])
    const { state } = second
    const declared = new Set(first.plan.steps.map(({ kind }) => kind.kind))
    expect(kinds.map(({ kind }) => kind).filter((kind) => !declared.has(kind))).toEqual(['ScimGroupMapping'])

    const exported = exportState(state, null)
    expect(exported.skipped).toEqual([])
    const text = exported.files.map((file) => file.text).join('---\n')
    for (const secret of Object.values(environment)) expect(text).not.toContain(secret)
    const other = await open(key, text, { environment: {}, needsSecrets: false })
    expect(other.plan.problems).toEqual([])
    expect(describePlan(other.plan, true).text).toBe('No differences.')
  })

  test('records say which set declares them, also in lists, until they are deleted', async () => {
    await apply(ownKey(), limit('marked', 5), { set: 'limits' })
    const [marked] = (await limitsOf()).filter(({ name }: Body) => name === 'marked')
    expect(marked.managed_by).toBe('limits')
    expect((await server().call('GET', `/limits/${marked.id}`)).body.data.managed_by).toBe('limits')
    const body = { name: 'by hand', measure: 'requests', window: 'minute', amount: 5 }
    const other = await server().call('POST', '/limits', { body })
    expect(other).toMatchObject({ status: 201, body: { data: { name: 'by hand' } } })
    expect(other.body.data).not.toHaveProperty('managed_by')
    const listed = async () => (await server().call('GET', '/configuration/records?set=limits')).body.data
    expect(await listed()).toMatchObject([
      { kind: 'Limit', id: marked.id, fields: ['amount', 'measure', 'window'] },
    ])
    await server().call('DELETE', `/limits/${marked.id}`)
    expect(await listed()).toEqual([])
  })

  test('a change made elsewhere is overwritten, and what the files do not mention stays', async () => {
    await apply(ownKey(), limit('drifting', 5), { set: 'drift' })
    const [record] = (await limitsOf()).filter(({ name }: Body) => name === 'drifting')
    await server().call('PATCH', `/limits/${record.id}`, { body: { amount: 9, include_byok: true } })
    expect(await textOf(limit('drifting', 5), { set: 'drift' })).toContain(
      '~ Limit "drifting"\n    amount: 9 -> 5',
    )
    await apply(ownKey(), limit('drifting', 5), { set: 'drift' })
    expect((await server().call('GET', `/limits/${record.id}`)).body.data).toMatchObject({
      amount: 5,
      include_byok: true,
    })
  })

  test('only with pruning, a record that left the files is deleted, and only one of the set', async () => {
    await apply(ownKey(), limit('foreign', 1), { set: 'other' })
    await apply(ownKey(), `${limit('first', 1)}---\n${limit('second', 1)}`, { set: 'pruned' })
    const names = async () => (await limitsOf()).map(({ name }: Body) => name)
    await apply(ownKey(), limit('first', 1), { set: 'pruned' })
    expect(await names()).toContain('second')
    await apply(ownKey(), limit('first', 1), { set: 'pruned', prune: true })
    expect(await names()).not.toContain('second')
    expect(await names()).toEqual(expect.arrayContaining(['first', 'foreign']))
  })

  test('a record of another set is refused, unless it is taken over', async () => {
    await apply(ownKey(), limit('contested', 1), { set: 'mine' })
    const [problem] = await problemsOf(limit('contested', 2), { set: 'yours' })
    expect(problem).toBe(
      'test.yaml:1: the set "mine" declares Limit "contested". Use --take-over to declare it in "yours".',
    )
    await apply(ownKey(), limit('contested', 2), { set: 'yours', takeOver: true })
    expect(await problemsOf(limit('contested', 1), { set: 'mine' })).toHaveLength(1)
  })

  test('a field that cannot be changed replaces a limit, and is refused for a key', async () => {
    await apply(ownKey(), limit('windowed', 1))
    const hourly = limit('windowed', 1).replace('minute', 'hour')
    expect(await textOf(hourly)).toContain('± Limit "windowed"\n    window: "minute" -> "hour"')
    await apply(ownKey(), hourly)
    expect((await limitsOf()).filter(({ name }: Body) => name === 'windowed')).toMatchObject([
      { window: 'hour' },
    ])
    await apply(ownKey(), 'kind: Key\nname: dated\n')
    const [problem] = await problemsOf('kind: Key\nname: dated\nspec:\n  expires_at: 2030-01-01T00:00:00Z\n')
    expect(problem).toStartWith('test.yaml:4: spec.expires_at: cannot be changed for Key "dated".')
  })

  test('mistakes name the file, the line and the field before anything is sent', async () => {
    const problems = await problemsOf(
      [
        limit('fine', 1),
        'kind: Limit\nname: misspelled\nspec:\n  measure: requests\n  amout: 5\n',
        'kind: Limit\nname: negative\nspec:\n  measure: requests\n  window: minute\n  amount: -5\n',
        'kind: Guardrail\nname: lost\nworkspace: nowhere\n',
        'kind: ByokKey\nname: literal\nspec:\n  provider: openai\n  key: sk-literal-secret\n',
        'kind: ByokKey\nname: unset\nspec:\n  provider: openai\n  key: ${env:NOT_SET}\n',
        'kind: Limit\nname: of a lost key\nspec:\n  measure: requests\n  window: minute\n  amount: 5\n  match:\n    key: lost\n',
      ].join('---\n'),
    )
    expect(problems.map((problem) => problem.replace(/( Its fields| on the server).*$/, ''))).toEqual([
      'test.yaml:9: spec.amout: is no field of Limit.',
      expect.stringMatching(/^test\.yaml:16: spec\.amount: /),
      'test.yaml:18: no Workspace has the name "nowhere",',
      'test.yaml:26: spec.key: is a secret; write a reference such as ${env:NAME} instead.',
      'test.yaml:32: spec.key: the variable NOT_SET is not set.',
      expect.stringContaining('spec.match.key (test.yaml:41): no Key has the name "lost",'),
    ])
    expect((await limitsOf()).map(({ name }: Body) => name)).not.toContain('fine')
  })

  test('a reference in a list is refused, since its value could not be hidden', async () => {
    const alias = 'kind: ModelAlias\nname: hidden\nspec:\n  models: ["${env:VENDOR_KEY}"]\n'
    const [problem] = await problemsOf(alias)
    expect(problem).toBe('test.yaml:4: spec.models.0: a list cannot have references to variables.')
  })

  test('a reference to a variable of Headgate itself is refused', async () => {
    const view = 'kind: Workspace\nname: leak\nspec:\n  description: ${env:HEADGATE_MANAGEMENT_KEY}\n'
    const [problem] = await problemsOf(view)
    expect(problem).toStartWith(
      'test.yaml:4: spec.description: HEADGATE_MANAGEMENT_KEY is of Headgate itself',
    )
  })

  test('aliases that expand without an end are a mistake', () => {
    const levels = Array.from({ length: 9 }, (_, level) => {
      const [own, next] = [`l${level}`, `*l${level - 1}`]
      return `  ${own}: &${own} [${Array.from({ length: 9 }, () => (level === 0 ? 'x' : next)).join(', ')}]`
    })
    const text = `kind: Workspace\nname: laughs\nspec:\n${levels.join('\n')}\n`
    expect(() => parseDocuments(text, 'test.yaml')).toThrow('test.yaml:1: Excessive alias count')
    expect(() => parseDocuments('kind: Workspace\nname: *nobody\n', 'test.yaml')).toThrow('test.yaml:')
  })

  test('secrets are appended to a file that only its owner can read', async () => {
    const path = join(mkdtempSync(join(tmpdir(), 'secrets-')), 'secrets.jsonl')
    writeFileSync(path, '{}\n', { mode: 0o644 })
    for (const name of ['one', 'two'])
      await appendSecret(path, { kind: 'Key', name, workspace: null, secret: 'sk-1' })
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(readFileSync(path, 'utf8').trim().split('\n')).toHaveLength(3)
  })

  test('what is declared twice is a mistake, also if one document names the default workspace', async () => {
    const [problem] = await problemsOf(
      'kind: Key\nname: twin\n---\nkind: Key\nname: twin\nworkspace: default\n',
    )
    expect(problem).toBe('test.yaml:5: Key "twin" is declared twice, first at test.yaml:2.')
  })

  test('after a failure in the middle, a second run continues', async () => {
    // Only the server knows that the model does not exist.
    const rule = (model: string) =>
      `kind: RoutingRule\nname: broken\nspec:\n  when: 'model == "a/b"'\n  then:\n    models: [${model}]\n`
    const { outcome } = await apply(ownKey(), `${limit('before', 1)}---\n${rule('sandbox/none')}`, {
      set: 'steps',
    })
    expect(outcome.failed?.message).toStartWith('test.yaml:10: RoutingRule "broken": spec.then.models')
    expect(outcome.done.map(({ name }) => name)).toEqual(['before'])
    const second = await apply(ownKey(), `${limit('before', 1)}---\n${rule('sandbox/echo')}`, {
      set: 'steps',
    })
    expect(second.outcome.failed).toBeNull()
    expect(second.outcome.done.map(({ name }) => name)).toEqual(['broken'])
  })

  test('a secret is sent again only if it has changed, and is shown nowhere', async () => {
    const byok = 'kind: ByokKey\nname: rotating\nspec:\n  provider: mistral\n  key: ${env:MISTRAL}\n'
    const withSecret = (secret: string) => ({ set: 'secrets', environment: { MISTRAL: secret } })
    await apply(ownKey(), byok, withSecret('first-secret-1234567890'))
    expect(await textOf(byok, withSecret('first-secret-1234567890'))).toBe('No differences.')
    expect(await textOf(byok, withSecret('second-secret-123456789'))).toContain('    key: (secret)')
    await apply(ownKey(), byok, withSecret('second-secret-123456789'))
    expect(await textOf(byok, withSecret('second-secret-123456789'))).toBe('No differences.')
    expect(await textOf(byok, { set: 'secrets', environment: {}, needsSecrets: false })).toBe(
      'No differences.',
    )
    const [{ secrets }] = (await server().call('GET', '/configuration/records?set=secrets')).body.data
    const audit = JSON.stringify((await server().call('GET', '/audit?limit=100')).body)
    expect(audit).toContain('configuration.manage')
    for (const hidden of ['second-secret', secrets.key]) expect(audit).not.toContain(hidden)
  })
})
