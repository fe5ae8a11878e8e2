import { afterEach, describe, expect, test } from 'bun:test'
import { rollUp } from '../../src/analytics/rollups/roll-up.ts'
import { checkLedger } from '../../src/ledger/check.ts'
import { createTenant } from '../support/harness.ts'
import { requestHolds } from '../support/holds.ts'
import { vendorReply } from '../support/replies.ts'
import { waitUntil } from '../support/wait-until.ts'
import { describeWithUpstreams, listGenerations, readJson, sendRequest } from './two-upstreams.ts'

type Body = Record<string, unknown>

/** The first upstream is the old gateway, which serves; mirrors go to the second one. */
const mirrorToSecond = { only: ['two-chat'] }
const served = { model: 'test/both-chat', provider: { only: ['one-chat'] } }
const withTools = { tools: [{ type: 'function', function: { name: 'get_weather', parameters: {} } }] }

describeWithUpstreams('shadow mode', (bench) => {
  const server = () => bench().server
  const gateway = () => server().gateway
  const call = (method: string, path: string, body?: unknown) =>
    server().call(method, path, body === undefined ? {} : { body })

  afterEach(async () => {
    await gateway().mirrors.idle()
    for (const { id } of (await call('GET', '/shadows')).body.data)
      expect((await call('DELETE', `/shadows/${id}`)).status).toBe(200)
    expect(await requestHolds(gateway().db).selectAll().execute()).toEqual([])
    expect((await checkLedger(gateway().db)).findings.flatMap(({ violations }) => violations)).toEqual([])
    for (const { requests } of [bench().first, bench().second]) requests.length = 0
  })

  const create = async (body: Body = {}) => {
    const draft = { name: 'Old gateway', share: 1, daily_usd: 10, target: mirrorToSecond, ...body }
    const created = await call('POST', '/shadows', draft)
    expect({ status: created.status, body: created.body }).toMatchObject({ status: 201 })
    return created.body.data.id as string
  }
  const send = (body: Body = {}, key?: string) =>
    sendRequest(bench(), 'chat', { ...served, ...body }, key === undefined ? {} : { key })
  const reportOf = async (id: string) => (await call('GET', `/shadows/${id}/report`)).body.data
  const comparisonsOf = async (id: string) => (await call('GET', `/shadows/${id}/comparisons`)).body.data
  const compared = async (id: string, count = 1) => {
    await waitUntil(async () => (await comparisonsOf(id)).length >= count)
    return comparisonsOf(id)
  }
  const skipped = async (id: string, reason: string, requests = 1) =>
    waitUntil(async () =>
      (await reportOf(id)).skipped.some((one: Body) => one.reason === reason && one.requests === requests),
    )

  describe('a request is mirrored after it is answered', () => {
    test.each([false, true])('and both replies are compared (stream: %p)', async (stream) => {
      const id = await create()
      const response = await send({ stream })
      await response.text()
      const [comparison] = await compared(id)
      expect(comparison).toMatchObject({
        original: { provider: 'one-chat', status: 'completed', finish_reason: 'stop', error: null },
        mirror: { provider: 'two-chat', status: 'completed', finish_reason: 'stop', error: null },
        differences: [],
      })
      const { original, mirror } = comparison
      expect(mirror.cost_usd).toBeGreaterThan(original.cost_usd)
      expect(original.first_token_ms === null).toBe(!stream)
      for (const one of [original, mirror]) {
        const { body } = await call('GET', `/generation?id=${one.generation_id}`)
        expect(body.data).toMatchObject({ provider_name: one.provider, total_cost: one.cost_usd })
      }
      expect(bench().second.requests[0]?.json.messages).toEqual(bench().first.requests[0]?.json.messages)
      expect(await reportOf(id)).toMatchObject({
        mirrored: 1,
        identical: 1,
        latency_ms: { compared: 1 },
        first_token_ms: { compared: stream ? 1 : 0 },
        cost_usd: { compared: 1, original: original.cost_usd, mirror: mirror.cost_usd },
        spend: { today_usd: mirror.cost_usd, daily_usd: 10 },
      })
    })

    test('with other tool calls, which are compared by names and arguments', async () => {
      const id = await create()
      bench().first.enqueue({ json: vendorReply('chat', 'toolCalls').body })
      await (await send(withTools)).text()
      const [comparison] = await compared(id)
      const kinds = comparison.differences.map(({ kind }: Body) => kind)
      expect(kinds).toContain('finish_reason')
      expect(kinds).toContain('tool_calls')
      expect(kinds).toContain('parts')
      const { body } = await call('GET', `/shadows/${id}/comparisons?differing=true`)
      expect(body.data).toHaveLength(1)
    })

    test('with structured output, by paths, types and validity; names are hidden where contents are not stored', async () => {
      const id = await create()
      const reply = (content: string) => {
        const { body } = vendorReply('chat', 'structured')
        const [choice] = body.choices as { message: object }[]
        return { json: { ...body, choices: [{ ...choice, message: { ...choice?.message, content } }] } }
      }
      bench().first.enqueue(reply('{"city":"Oslo","days":[1]}'))
      bench().second.enqueue(reply('{"city":7,"Anna Smith":true}'))
      const schema = {
        type: 'object',
        properties: { city: { type: 'string' }, days: { type: 'array', items: { type: 'number' } } },
        required: ['city'],
      }
      await (
        await send({ response_format: { type: 'json_schema', json_schema: { name: 'trip', schema } } })
      ).text()
      const [comparison] = await compared(id)
      expect(comparison.structured_output).toEqual({ original: true, mirror: false })
      expect(comparison.differences).toContainEqual({
        kind: 'json_shape',
        path: '$.city',
        original: 'string',
        mirror: 'number',
      })
      expect(comparison.differences).toContainEqual({
        kind: 'json_shape',
        path: '$.days',
        original: 'array',
        mirror: null,
      })
      expect(JSON.stringify(comparison)).not.toContain('Anna')
    })

    test('a failure of the mirror is reported, and the client does not notice', async () => {
      const id = await create()
      bench().second.enqueue({ status: 400, json: { error: { message: 'no', type: 'x' } } })
      expect((await send()).status).toBe(200)
      const [comparison] = await compared(id)
      expect(comparison.mirror.status).toBe('failed')
      expect(comparison.differences.map(({ kind }: Body) => kind)).toEqual(['status', 'error'])
      const { errors } = await reportOf(id)
      expect(errors).toMatchObject({ original: [], mirror: [{ requests: 1, example: comparison.id }] })
    })

    test('a mirror that does not answer delays nothing, and ends after its time', async () => {
      const id = await create({ timeout_seconds: 1 })
      bench().second.enqueue({ hang: true })
      expect((await readJson(send())).choices).toHaveLength(1)
      expect((await readJson(send())).choices).toHaveLength(1)
      const list = await compared(id, 2)
      expect(list.map((one: { mirror: Body }) => one.mirror.error).sort()).toEqual([null, 'timeout'])
    })

    test('a failure of the original is compared too', async () => {
      const id = await create()
      bench().first.enqueue({ status: 400, json: { error: { message: 'no', type: 'x' } } })
      expect((await send()).status).toBe(400)
      const [comparison] = await compared(id)
      expect(comparison).toMatchObject({ original: { status: 'failed' }, mirror: { status: 'completed' } })
    })
  })

  test('what the request ignores is ignored, and it has the lowest priority', async () => {
    const id = await create({ target: { ignore: ['one-chat'] } })
    const provider = { only: ['one-chat', 'two-chat'], order: ['one-chat'], priority: 'normal' }
    await (await send({ provider })).text()
    const [comparison] = await compared(id)
    expect(comparison).toMatchObject({ original: { provider: 'one-chat' }, mirror: { provider: 'two-chat' } })
    await (await send({ provider: { ignore: ['two-chat'] } })).text()
    await skipped(id, 'no_endpoints')
  })

  test('providers that the request does not allow stay forbidden where the shadow ignores those it allows', async () => {
    const id = await create({ target: { ignore: ['one-chat'] } })
    await (await send()).text()
    await skipped(id, 'no_endpoints')
    expect(bench().second.requests).toEqual([])
  })

  test('what waits when a shadow is disabled is not sent', async () => {
    const id = await create({ concurrency: 1, timeout_seconds: 1 })
    bench().second.enqueue({ hang: true })
    await (await send()).text()
    await waitUntil(() => bench().second.requests.length === 1)
    await (await send()).text()
    expect((await call('PATCH', `/shadows/${id}`, { enabled: false })).status).toBe(200)
    await skipped(id, 'disabled')
    expect(bench().second.requests).toHaveLength(1)
    expect(await comparisonsOf(id)).toMatchObject([{ mirror: { error: 'timeout' } }])
  })

  test('a shadow of a workspace is deleted with it', async () => {
    const workspace = await call('POST', '/workspaces', { name: 'Gone', slug: 'gone' })
    const id = await create({ workspace_id: workspace.body.data.id })
    expect((await call('DELETE', `/workspaces/${workspace.body.data.id}`)).status).toBe(200)
    expect((await call('GET', `/shadows/${id}`)).status).toBe(404)
  })

  describe('what is not mirrored is counted', () => {
    test('server tools', async () => {
      const id = await create()
      await (await send({ tools: [{ type: 'service:datetime' }] })).text()
      await skipped(id, 'tools')
      expect(await comparisonsOf(id)).toEqual([])
    })

    test('a body over the size', async () => {
      const id = await create({ max_body_bytes: 1024 })
      await (await send({ messages: [{ role: 'user', content: 'word '.repeat(400) }] })).text()
      await skipped(id, 'too_large')
    })

    test('a request that was rejected here', async () => {
      const id = await create()
      expect((await send({ provider: { only: ['nobody'] } })).status).toBeGreaterThan(399)
      await skipped(id, 'rejected')
    })

    test('a model that mirrors cannot be sent to', async () => {
      const id = await create({ target: { only: ['nobody'] } })
      await (await send()).text()
      await skipped(id, 'no_endpoints')
    })

    test('other models, workspaces and shares are not even counted', async () => {
      const ids = [await create({ models: ['test/other'] }), await create({ share: 0 })]
      const workspace = await call('POST', '/workspaces', { name: 'Other', slug: 'other' })
      ids.push(await create({ workspace_id: workspace.body.data.id }))
      ids.push(await create({ enabled: false }))
      await (await send()).text()
      await gateway().mirrors.idle()
      for (const id of ids) expect(await reportOf(id)).toMatchObject({ mirrored: 0, skipped: [] })
    })
  })

  describe('money', () => {
    test('the cap holds under 200 concurrent requests, and the key of the client pays for its own only', async () => {
      const own = await call('POST', '/keys', { name: 'client' })
      // Each mirror costs 10 cents at most, by a price for each request.
      const id = await create({ target: { model: 'test/cent' }, daily_usd: 0.05, concurrency: 100 })
      const { provider: _any, ...body } = { ...served, model: 'test/chat' }
      const sending = Array.from({ length: 200 }, () =>
        sendRequest(bench(), 'chat', body, { key: own.body.key }).then((response) => response.text()),
      )
      await Promise.all(sending)
      await waitUntil(async () => {
        const { mirrored, skipped: list } = await reportOf(id)
        return (
          mirrored + list.reduce((sum: number, one: { requests: number }) => sum + one.requests, 0) === 200
        )
      })
      const report = await reportOf(id)
      expect(report.spend.today_usd).toBeLessThanOrEqual(0.05)
      expect(report.mirrored).toBe(5)
      expect(report.skipped).toEqual([{ reason: 'budget', requests: 195 }])
      const keyId = (await gateway().accounts.findKey(own.body.key))?.id
      const rows = (await listGenerations(bench())).filter(
        ({ key_id, model }) => key_id === keyId || model === 'test/cent',
      )
      const mirrors = rows.filter(({ model }) => model === 'test/cent')
      expect(mirrors).toHaveLength(5)
      const key = await call('GET', `/keys/${own.body.data.hash}`)
      const ownCost = rows.filter(({ model }) => model === 'test/chat').map(({ cost_nanos }) => cost_nanos)
      expect(key.body.data.usage).toBe(Number(ownCost.reduce((sum, cost) => sum + cost, 0n)) / 1e9)
      const others = new Set(rows.filter(({ model }) => model === 'test/chat').map((row) => row.workspace_id))
      for (const { workspace_id, user_id } of mirrors) {
        expect(others.has(workspace_id)).toBe(false)
        expect(user_id).toBeNull()
      }
    })

    test('a limit of the client does not count its mirrors', async () => {
      const limit = { name: 'One', measure: 'requests', window: 'day', amount: 1 }
      const created = await call('POST', '/limits', limit)
      const id = await create()
      await (await send()).text()
      await compared(id)
      expect((await send()).status).toBe(429)
      await call('DELETE', `/limits/${created.body.data.id}`)
    })
  })

  describe('the workspace of the mirrors', () => {
    const findWorkspace = async (slug: string) => (await call('GET', `/workspaces/${slug}`)).body.data

    test('cannot be deleted while there are shadows, and is created again afterwards', async () => {
      const id = await create()
      const before = await findWorkspace('shadow-mode')
      const refused = await call('DELETE', `/workspaces/${before.id}`)
      expect(refused).toMatchObject({
        status: 400,
        body: { error: { message: expect.stringContaining('delete the shadows first') } },
      })
      for (const one of (await call('GET', '/shadows')).body.data) await call('DELETE', `/shadows/${one.id}`)
      expect((await call('DELETE', `/workspaces/${before.id}`)).status).toBe(200)
      const again = await create()
      expect(again).not.toBe(id)
      expect((await findWorkspace('shadow-mode')).id).not.toBe(before.id)
      await (await send()).text()
      expect((await compared(again))[0]?.mirror.status).toBe('completed')
    })

    test('a shadow whose key was deleted skips its mirrors until it is changed', async () => {
      const id = await create()
      const { id: workspace } = await findWorkspace('shadow-mode')
      const { data: keys } = (await call('GET', `/keys?include_disabled=true&workspace_id=${workspace}`)).body
      for (const { hash } of keys) expect((await call('DELETE', `/keys/${hash}`)).status).toBe(200)
      await (await send()).text()
      await skipped(id, 'rejected')
      expect((await call('PATCH', `/shadows/${id}`, { daily_usd: 5 })).status).toBe(200)
      await (await send()).text()
      expect(await compared(id)).toHaveLength(1)
    })

    test('a shadow of a workspace is deleted with it', async () => {
      const { body } = await call('POST', '/workspaces', { name: 'Short-lived', slug: 'short-lived' })
      const id = await create({ workspace_id: body.data.id })
      expect((await call('DELETE', `/workspaces/${body.data.id}`)).status).toBe(200)
      expect((await call('GET', `/shadows/${id}`)).status).toBe(404)
    })

    test('datasets count originals, and neither count nor classify mirrors', async () => {
      const { db, settings } = gateway()
      const { datasets } = settings
      Object.assign(settings, { datasets: { ...datasets, classify_one_in: 1 } })
      const id = await create()
      await (await send()).text()
      const [comparison] = await compared(id)
      Object.assign(settings, { datasets })
      const tasks = await db.selectFrom('generation_tasks').select('generation_id').execute()
      const classified = tasks.map(({ generation_id }) => generation_id)
      expect(classified).toContain(comparison.original.generation_id)
      expect(classified).not.toContain(comparison.mirror.generation_id)
      await rollUp({ db }, { minRows: 1 })
      const figures = await db
        .selectFrom('dataset_contributions')
        .select((eb) => eb.fn.sum<string | number>('requests').as('requests'))
        .where('kind', '=', 'model')
        .where('subject', 'like', 'test/%')
        .executeTakeFirstOrThrow()
      const rows = (await listGenerations(bench())).filter(({ model }) => model.startsWith('test/'))
      const mirrors = await db
        .selectFrom('workspaces')
        .select('id')
        .where('slug', '=', 'shadow-mode')
        .execute()
      const isMirror = ({ workspace_id }: { workspace_id: string }) =>
        mirrors.some((one) => one.id === workspace_id)
      expect(rows.some(isMirror)).toBe(true)
      expect(Number(figures.requests)).toBe(rows.filter((row) => !isMirror(row)).length)
    })
  })

  describe('tenants', () => {
    test('requests of another organization are not mirrored, and it sees no shadow', async () => {
      const id = await create()
      const tenant = await createTenant(gateway(), 'Other tenant')
      await (await send({}, tenant.inferenceKey)).text()
      await gateway().mirrors.idle()
      expect(await reportOf(id)).toMatchObject({ mirrored: 0, skipped: [] })
      expect(bench().second.requests).toEqual([])
      const options = { key: tenant.managementKey }
      for (const path of [
        '/shadows',
        `/shadows/${id}`,
        `/shadows/${id}/report`,
        `/shadows/${id}/comparisons`,
      ])
        expect((await server().call('GET', path, options)).status).toBe(403)
    })

    test('contents of a mirror are stored only if those of its original are', async () => {
      const workspace = server().own.workspace.id
      const id = await create()
      await (await send()).text()
      const [silent] = await compared(id)
      const change = await call('PATCH', `/workspaces/${workspace}`, {
        is_observability_io_logging_enabled: true,
      })
      expect(change.status).toBe(200)
      await (await send()).text()
      const [logged] = await compared(id, 2)
      await call('PATCH', `/workspaces/${workspace}`, { is_observability_io_logging_enabled: false })
      const statusOf = async (generation: string) =>
        (await call('GET', `/generation/content?id=${generation}`)).status
      expect(await statusOf(silent.mirror.generation_id)).toBe(404)
      expect(await statusOf(logged.mirror.generation_id)).toBe(200)
      expect(await statusOf(logged.original.generation_id)).toBe(200)
    })

    test('a guardrail that forbids a provider to the original forbids it to the mirror', async () => {
      const guardrail = await call('POST', '/guardrails', {
        name: 'Only the first',
        ignored_providers: ['two-chat'],
      })
      const made = await call('POST', '/keys', { name: 'limited' })
      const path = `/guardrails/${guardrail.body.data.id}/assignments/keys`
      await call('POST', path, { key_hashes: [made.body.data.hash] })
      const id = await create()
      await (await send({}, made.body.key)).text()
      await gateway().mirrors.idle()
      await waitUntil(async () => (await reportOf(id)).skipped.length === 1)
      expect(bench().second.requests).toEqual([])
    })
  })

  describe('exchanges of another gateway', () => {
    const request = { ...served, messages: [{ role: 'user', content: 'Hello' }] }

    test('are mirrored and compared with the recorded reply', async () => {
      const id = await create({ share: 0 })
      const { body: reply } = vendorReply('chat', 'text')
      const posted = await call('POST', `/shadows/${id}/exchanges`, {
        ...{ id: 'call-1', request, reply, cost_usd: 0.5, latency_ms: 900 },
      })
      expect({ status: posted.status, body: posted.body }).toEqual({
        status: 202,
        body: { accepted: 1, skipped: [] },
      })
      const [comparison] = await compared(id)
      expect(comparison).toMatchObject({
        original: { external_id: 'call-1', generation_id: null, cost_usd: 0.5, latency_ms: 900 },
        mirror: { provider: 'two-chat', status: 'completed' },
        differences: [],
      })
    })

    test('also as LiteLLM reports them, in a list', async () => {
      const id = await create({ share: 0 })
      const { body: response } = vendorReply('chat', 'text')
      const record = {
        ...{ id: 'chatcmpl-1', call_type: 'acompletion', status: 'success', stream: false },
        ...{ model: 'gpt-4o', model_group: 'test/both-chat', custom_llm_provider: 'openai' },
        ...{ startTime: 1760000000.5, endTime: 1760000001.25, completionStartTime: 1760000001.25 },
        ...{ response_cost: 0.001, messages: request.messages, response },
        model_parameters: { temperature: 0, max_retries: 2 },
      }
      const failed = {
        ...record,
        status: 'failure',
        response: null,
        error_information: { error_code: '500' },
      }
      const posted = await call('POST', `/shadows/${id}/exchanges`, [
        record,
        failed,
        { ...record, messages: 'redacted-by-litellm' },
      ])
      expect(posted.body).toMatchObject({ accepted: 2, skipped: [{ index: 2, reason: 'invalid' }] })
      const list = await compared(id, 2)
      expect(list).toContainEqual(
        expect.objectContaining({
          original: expect.objectContaining({
            ...{ external_id: 'chatcmpl-1', status: 'completed', model: 'gpt-4o', latency_ms: 750 },
          }),
        }),
      )
      const { errors } = await reportOf(id)
      expect(errors.original).toMatchObject([{ code: '500', requests: 1 }])
      expect(bench().second.requests[0]?.json.temperature).toBe(0)
      expect(bench().second.requests[0]?.json).not.toHaveProperty('max_retries')
    })

    test('costs of any precision are compared, and what is no cost is unknown', async () => {
      const id = await create({ share: 0 })
      const { body: reply } = vendorReply('chat', 'text')
      const record = {
        ...{ call_type: 'completion', startTime: 1, endTime: 2, messages: request.messages },
        ...{ model: 'm'.repeat(10_000), model_group: 'test/both-chat', response: reply },
      }
      const costs = [0.00012345678912, -1, 1e300]
      const posted = await call('POST', `/shadows/${id}/exchanges`, [
        { id: 'own', request, reply, cost_usd: 0.1 + 0.2 },
        ...costs.map((response_cost, index) => ({ ...record, id: `${index}`, response_cost })),
      ])
      expect(posted.body).toEqual({ accepted: 4, skipped: [] })
      const list: { original: Body & { model: string } }[] = await compared(id, 4)
      const known = list.map(({ original }) => [original.external_id, original.cost_usd])
      expect(Object.fromEntries(known)).toEqual({ own: 0.3, 0: 0.000123457, 1: null, 2: null })
      expect(Math.max(...list.map(({ original }) => original.model.length))).toBe(256)
    })

    test('a list may be as large as a prompt, and have any characters', async () => {
      const id = await create({ share: 0, max_body_bytes: 1024 })
      const content = `\0${'x'.repeat(4000)}`
      const large = { ...request, messages: [{ role: 'user', content }] }
      const values = Array.from({ length: 40 }, (_, index) => index)
      const posted = await call(
        'POST',
        `/shadows/${id}/exchanges`,
        Array.from({ length: 600 }, () => ({ request: large, reply: { choices: [], values } })),
      )
      expect([posted.status, posted.body.accepted]).toEqual([202, 0])
      await skipped(id, 'too_large', 600)
    })

    test('what the other gateway has stored is not known here', async () => {
      const id = await create({ share: 0 })
      const input = { model: 'test/both-chat', input: 'Hello' }
      const posted = await call('POST', `/shadows/${id}/exchanges`, [
        { format: 'responses', request: { ...input, previous_response_id: 'resp_1' } },
        { format: 'responses', request: { ...input, conversation: 'conv_1' } },
        { format: 'responses', request: { ...input, background: true } },
      ])
      expect(posted.body.accepted).toBe(0)
      expect(posted.body.skipped.map(({ message }: { message: string }) => message.split(':')[0])).toEqual([
        'previous_response_id',
        'conversation',
        'background',
      ])
    })

    test('400 for what is neither, 409 for a disabled shadow', async () => {
      const id = await create({ share: 0, enabled: false })
      expect((await call('POST', `/shadows/${id}/exchanges`, { reply: {} })).status).toBe(400)
      expect((await call('POST', `/shadows/${id}/exchanges`, { request })).status).toBe(409)
    })
  })

  test.each<[string, Body]>([
    ['target.model', { target: { model: 'nowhere/to-be-found' } }],
    ['daily_usd', { daily_usd: 0.0000000001 }],
    ['daily_usd', { daily_usd: 0 }],
    ['share', { share: 1.1 }],
    ['target', { target: {} }],
  ])('400 naming %s', async (field, change) => {
    const { status, body } = await call('POST', '/shadows', { name: 'x', daily_usd: 1, ...change })
    expect({ status, message: body.error.message }).toMatchObject({
      status: 400,
      message: expect.stringMatching(new RegExp(`^${field}\\b`)),
    })
  })

  test('what is changed and deleted is in the audit log', async () => {
    const id = await create()
    const changed = await call('PATCH', `/shadows/${id}`, { share: 0.25, target: null, daily_usd: 2 })
    expect(changed.body.data).toMatchObject({
      share: 0.25,
      target: { model: null, only: null, ignore: null },
      daily_usd: 2,
    })
    await call('DELETE', `/shadows/${id}`)
    const { body } = await call('GET', `/audit?target_id=${id}`)
    expect(body.data.map(({ action }: Body) => action).toSorted()).toEqual([
      'shadow.create',
      'shadow.delete',
      'shadow.update',
    ])
  })
})
