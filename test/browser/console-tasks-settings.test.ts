import { afterAll, beforeAll, expect } from 'bun:test'
import { createMember } from '../../src/identity/members.ts'
import { describeInChromium } from '../support/chromium.ts'
import { createSessionCaller, startTestServer, type TestServer } from '../support/harness.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'
import { createTasks } from './console-task.ts'

describeInChromium('Daily tasks in the console: settings', (chromium) => {
  let server: TestServer
  let vllm: Upstream
  let checkout: { hash: string }
  let research: { id: string }
  let admin: { email: string }
  let leaver: { id: string }

  beforeAll(async () => {
    vllm = await startUpstream()
    vllm.setDefault(({ path, json }) =>
      path.endsWith('/models')
        ? {
            json: {
              object: 'list',
              data: models.map((id) => ({ id, object: 'model', max_model_len: 8192 })),
            },
          }
        : {
            json: {
              model: json.model,
              choices: [{ message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
              usage: { prompt_tokens: 1000, completion_tokens: 1000, total_tokens: 2000 },
            },
          },
    )
    server = await startTestServer('sqlite', {
      settings: `public_url: http://localhost\nsmtp: { host: 127.0.0.1, port: 9, tls: none, from: gate@example.com }`,
    })
    checkout = (await server.call('POST', '/keys', { body: { name: 'Checkout' } })).body.data
    const created = await server.call('POST', '/workspaces', { body: { name: 'Research', slug: 'research' } })
    research = created.body.data
    const session = await createSessionCaller(server, { role: 'org:admin' })
    admin = session.member
    await session.call('PUT', `/workspaces/${research.id}/budgets/monthly`, { body: { limit_usd: 250 } })
    leaver = await createMember(server.gateway.db, server.clock, {
      organizationId: server.own.organization.id,
      email: 'grace@example.com',
      firstName: 'Grace',
      role: 'org:member',
    })
    for (const name of ['Notebook', 'Nightly job'])
      await server.call('POST', '/keys', { body: { name, creator_user_id: leaver.id } })
    await server.call('POST', '/chat/completions', {
      key: server.own.inferenceKey,
      body: { model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] },
    })
  })
  afterAll(async () => {
    await server.stop()
    await vllm.stop()
  })

  const task = createTasks(() => server, chromium)

  task('Add an own server with its models and prices', 5, async (hand, page) => {
    await hand.openScreen('Providers')
    await hand.click(page.getByRole('button', { name: 'Add provider' }))
    await hand.type(`${vllm.url}/v1`)
    await hand.press('Enter')
    for (const model of models)
      expect(await page.getByRole('checkbox', { name: model }).isChecked()).toBe(true)
    await hand.click(page.getByLabel(`Input price of ${models[0]}`))
    await hand.type('0.5', '1.5', '', '2', '4')
    await hand.press('Enter')
    await page.waitForURL(/\/providers\/127\.0\.0\.1-/)
    await page.getByRole('heading', { level: 1, name: new URL(vllm.url).host }).waitFor()

    const slug = new URL(page.url()).pathname.split('/').at(-1)
    const reply = await server.call('POST', '/chat/completions', {
      key: server.own.inferenceKey,
      body: { model: `${slug}/${models[0]}`, messages: [{ role: 'user', content: 'Hello' }] },
    })
    expect(reply.status).toBe(200)
    expect(reply.body.usage.cost).toBeCloseTo(0.002, 9)
  })

  task('Limit a key to two models and 60 requests a minute', 6, async (hand, page) => {
    await hand.openScreen('API keys')
    await hand.click(page.getByRole('button', { name: 'Actions for Checkout' }))
    await hand.click(page.getByRole('menuitem', { name: 'Edit' }))
    await hand.click(page.getByRole('combobox', { name: 'Allowed models' }))
    await hand.type('sandbox/echo,sandbox/reasoner,')
    await hand.click(page.getByRole('button', { name: 'Add rate limit' }))
    await hand.type('60')
    await hand.press('Enter')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    const policy = (await server.call('GET', `/keys/${checkout.hash}/policy`)).body.data
    expect(policy.allowed_models.values).toEqual(['sandbox/echo', 'sandbox/reasoner'])
    const limits = (await server.call('GET', `/limits?key_hash=${checkout.hash}&source=limit`)).body.data
    expect(limits).toMatchObject([{ measure: 'requests', window: 'minute', amount: 60 }])
  })

  task('See who changed a budget', 2, async (hand, page) => {
    await hand.openScreen('Budgets')
    await hand.click(page.getByRole('link', { name: 'History of the budgets of Research' }))
    await page.getByRole('heading', { level: 1, name: 'Audit log' }).waitFor()
    await page
      .getByText(new RegExp(`${admin.email}.*budget`))
      .first()
      .waitFor()
  })

  task('Disable all keys of a person who left', 4, async (hand, page) => {
    await hand.openScreen('Members')
    await hand.click(page.getByRole('link', { name: 'Grace' }))
    await hand.click(page.getByRole('button', { name: 'Disable all keys' }))
    await hand.click(page.getByRole('dialog').getByRole('button', { name: 'Disable' }))
    await page.getByText('No enabled keys.').waitFor()
    const { data } = (await server.call('GET', `/keys?creator_user_id=${leaver.id}&include_disabled=true`))
      .body
    expect(data.map(({ disabled }: { disabled: boolean }) => disabled)).toEqual([true, true])
  })

  task('Compare two models on the same prompt', 6, async (hand, page) => {
    await hand.openScreen('Playground')
    await hand.click(page.getByRole('button', { name: 'Add model' }))
    await hand.click(page.getByRole('combobox', { name: 'Model 2', exact: true }))
    await hand.type('sandbox/reasoner')
    await hand.press('Enter')
    await hand.click(page.getByRole('textbox', { name: 'Message', exact: true }))
    await hand.type('Which of you is shorter?')
    await hand.press('Control+Enter')
    for (const model of ['sandbox/echo', 'sandbox/reasoner']) {
      const answers = page.getByRole('region', { name: `Conversation with ${model}` })
      await answers.getByText('Which of you is shorter?').nth(1).waitFor()
    }
  })

  task('Get an alert at 80% of a workspace’s budget', 3, async (hand, page) => {
    await hand.openScreen('Budgets')
    await hand.click(page.getByRole('link', { name: 'Add alert for the budgets of Research' }))
    await page.getByRole('combobox', { name: 'E-mail addresses' }).waitFor()
    await hand.type('ops@example.com')
    await hand.click(page.getByRole('dialog').getByRole('button', { name: 'Add', exact: true }))
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    const { data } = (await server.call('GET', '/notifications/rules')).body
    const rule = data.find(({ workspace_id }: { workspace_id: string }) => workspace_id === research.id)
    expect(rule).toMatchObject({ kind: 'budget', threshold: 80, channels: { email: ['ops@example.com'] } })
  })
})

const models = ['llama-3.3-70b', 'qwen3-8b']
