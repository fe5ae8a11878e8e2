import { afterAll, beforeAll, expect, test } from 'bun:test'
import { startTestServer, type TestServer } from './support/harness.ts'

const pages = ['audit', 'notifications', 'permissions', 'sign-in']

interface CurlCommand {
  page: string
  method: string
  path: string
  body?: string
  contentType?: string
}

/** The `curl` commands of a page, as curl would send them. */
async function listCommands(page: string): Promise<CurlCommand[]> {
  const text = await Bun.file(`docs/${page}.md`).text()
  const blocks = [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) => block)
  const lines = blocks.flatMap((block) => block.replaceAll(/\\\n\s*/g, ' ').split('\n'))
  return lines
    .filter((line) => line.startsWith('curl '))
    .map((line) => {
      const [, path = ''] = /(?:127\.0\.0\.1:8080|\$HEADGATE_URL)\/api\/v1([^\s"]+)/.exec(line) ?? []
      const [, body] = / -d '([^']*)'/.exec(line) ?? []
      expect(line).toContain('-H "Authorization: Bearer $MANAGEMENT_KEY"')
      const [, method = body === undefined ? 'GET' : 'POST'] = / -X (\w+)/.exec(line) ?? []
      if (body === undefined) return { page, method, path }
      const isJson = /content-type: application\/json/i.test(line)
      const contentType = isJson ? 'application/json' : 'application/x-www-form-urlencoded'
      return { page, method, path, body, contentType }
    })
}

let server: TestServer
beforeAll(async () => {
  server = await startTestServer('sqlite')
})
afterAll(() => server.stop())

const commands = (await Promise.all(pages.map(listCommands))).flat()

test('every page has commands', () => {
  expect([...new Set(commands.map(({ page }) => page))]).toEqual(pages)
})

test.each(commands)('$page: $method $path', async ({ method, path, body, contentType }) => {
  const { own, url, call } = server
  const role = await call('POST', '/roles', {
    body: { name: `${path} ${body}`.slice(0, 90), permissions: [] },
  })
  const values: Record<string, string> = {
    $MEMBER_ID: own.owner.id,
    'role_...': role.body.data?.id ?? '',
    '"workspace_id": "..."': `"workspace_id": "${own.workspace.id}"`,
  }
  const fill = (text: string) =>
    Object.entries(values).reduce((filled, [name, value]) => filled.replaceAll(name, value), text)
  const response = await fetch(`${url}/api/v1${fill(path)}`, {
    method,
    headers: {
      authorization: `Bearer ${own.managementKey}`,
      ...(contentType && { 'content-type': contentType }),
    },
    ...(body !== undefined && { body: fill(body) }),
  })
  const text = await response.text()
  expect(`${response.status} ${response.ok ? '' : text}`).toBe(`${method === 'GET' ? 200 : 201} `)
})
