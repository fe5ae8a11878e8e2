import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createMember } from '../../src/identity/members.ts'
import { describeInChromium, siteOf } from '../support/chromium.ts'
import { startTestServer, type TestServer } from '../support/harness.ts'
import { Person } from './person.ts'

const canary = 'canary-x7Qw9ZtB-0123456789'
const phone = { viewport: { width: 390, height: 844 } }
const hostileName = '<img src=x onerror=alert(1)> <script>alert(2)</script>'

describeInChromium('System and API reference in the console', (chromium) => {
  let server: TestServer
  beforeAll(async () => {
    const settings = `providers:\n  - slug: openai\n    api_key: ${canary}\n`
    server = await startTestServer('sqlite', { settings })
  })
  afterAll(() => server.stop())

  const arrive = async (userId: string, options = {}) => {
    const person = await Person.arrive(server, chromium(), options)
    await person.signIn(userId)
    return person
  }
  const arriveAsMember = async () => {
    const organizationId = server.own.organization.id
    const member = { organizationId, email: 'bob@example.com', role: 'org:member' } as const
    return arrive((await createMember(server.gateway.db, server.clock, member)).id)
  }

  const bindOpen = (person: Person) => ({ page: person.page, open: (path: string) => person.open(path) })
  const arriveOwner = async (options = {}) => bindOpen(await arrive(server.own.owner.id, options))

  test('an operator sees the state of the installation, without its secrets', async () => {
    const { page, open } = await arriveOwner(phone)
    await open('/system')
    await page.getByRole('heading', { level: 1, name: 'System' }).waitFor()
    await page.getByText('SQLite, embedded').waitFor()
    await page.getByText('Events that destinations do not have yet.').waitFor()
    await page.getByText('headgate backup headgate.tar.zst').waitFor()
    await page.getByText('"api_key": "********"').waitFor()
    expect(await page.content()).not.toContain(canary)
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    expect(await chromium().takeProblems()).toEqual([])
  })

  test('the command of a screen leads to its operation, which is found by search too', async () => {
    const { page, open } = await arriveOwner()
    await open('/keys')
    await page.getByRole('button', { name: 'API', exact: true }).click()
    await page.getByRole('link', { name: 'Reference of GET /keys' }).click()
    await page.waitForURL('**/reference/listKeys')
    await page.getByRole('heading', { level: 1, name: 'GET /keys' }).waitFor()
    await page.getByRole('link', { name: 'All operations' }).click()
    await page.getByRole('textbox', { name: 'Search' }).fill('rotate key')
    await page.getByRole('link', { name: '/keys/{hash}/rotate' }).waitFor()
    expect(page.url()).toContain('q=rotate')
    await page.getByRole('textbox', { name: 'Search' }).fill('nothing has these words')
    await page.getByText('No operation has these words').waitFor()
    expect(await chromium().takeProblems()).toEqual([])
  })

  test('a request that changes something is confirmed, and its reply is text', async () => {
    const { page, open } = await arriveOwner()
    await open('/reference/createKey')
    await page.getByRole('textbox', { name: 'Body' }).fill('{')
    await page.getByText('The body is not valid JSON.').waitFor()
    await page.getByRole('textbox', { name: 'Body' }).fill(JSON.stringify({ name: hostileName }))
    await page.getByRole('button', { name: 'Send' }).click()
    const dialog = page.getByRole('dialog', { name: 'Send this request?' })
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    expect(await page.getByText('201 Created').count()).toBe(0)
    await page.getByRole('button', { name: 'Send' }).click()
    await dialog.getByRole('button', { name: 'Send' }).click()
    await page.getByText('201 Created').waitFor()
    await page.getByText('"key": "sk-hg-v1-').waitFor()
    expect(await page.locator('img').count()).toBe(0)
    await page.getByRole('region', { name: 'Reply' }).getByText('Headers', { exact: true }).click()
    await page.getByText('x-request-id: ').waitFor()

    await open('/reference/getKey')
    await page.getByText('Fill in hash.').waitFor()
    await page.getByLabel('hash').fill('0'.repeat(64))
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText('404 Not Found').waitFor()
    expect(await chromium().takeProblems()).toEqual([])
  })

  test('a stream is shown as it arrives, and a file can be saved', async () => {
    const { page, open } = await arriveOwner()
    await open('/reference/createChatCompletion')
    const body = page.getByRole('textbox', { name: 'Body' })
    await body.fill(JSON.stringify({ ...JSON.parse(await body.inputValue()), stream: true }))
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click()
    await page.getByText('data: [DONE]').waitFor()

    await open('/reference/uploadFile')
    await page
      .locator('input[type=file]')
      .first()
      .setInputFiles({ name: 'note.txt', mimeType: 'text/plain', buffer: Buffer.from('the note') })
    await page.getByText("-F 'file=@note.txt'").waitFor()
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click()
    const reply = page.locator('section[aria-label=Reply][aria-busy=false] pre').last()
    const { id } = JSON.parse((await reply.textContent()) ?? '')
    await open('/reference/downloadFile')
    await page.getByRole('textbox', { name: 'file_id' }).fill(id)
    await page.getByRole('button', { name: 'Send' }).click()
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: /^Save the file/ }).click()
    expect(await Bun.file(await (await download).path()).text()).toBe('the note')
    expect(await chromium().takeProblems()).toEqual([])
  })

  test('a member is told which permission is missing, and is not offered System', async () => {
    const { page, open } = await bindOpen(await arriveAsMember())
    await open('/reference/getSystem')
    await page.getByText('Your role does not have the permission system:read').waitFor()
    expect(await page.getByRole('button', { name: 'Send' }).count()).toBe(0)
    expect(await page.getByRole('link', { name: 'System' }).count()).toBe(0)
    await open('/reference?q=getSystem')
    await page.getByText('not for your role').waitFor()
    expect(await chromium().takeProblems()).toEqual([])
  })

  test('the reference is readable without a session', async () => {
    const page = await chromium().openPage(phone)
    await page.goto(`${siteOf(server)}/reference`)
    await page.getByRole('heading', { level: 2, name: 'Chat' }).click()
    await page.getByRole('link', { name: '/chat/completions', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'POST /chat/completions' }).waitFor()
    await page.getByRole('button', { name: '+ Fields of messages' }).click()
    await page.getByRole('button', { name: 'Sign in to try' }).waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    expect(await page.getByRole('button', { name: 'Send' }).count()).toBe(0)
    await page.getByRole('button', { name: 'Sign in to try' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    expect(await chromium().takeProblems()).toEqual([])
  })
})
