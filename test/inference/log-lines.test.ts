import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { Glob } from 'bun'
import { pino } from 'pino'
import { reloadGateway } from '../../src/main.ts'
import { subsystemLog } from '../../src/platform/logging/subsystem-log.ts'
import { resetRouting } from '../support/harness.ts'
import { waitUntil } from '../support/wait-until.ts'
import { describeWithUpstreams, sendRequest } from './two-upstreams.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const ids = { 'x-request-id': 'client-chosen-id', traceparent: `00-${traceId}-00f067aa0ba902b7-01` }

describeWithUpstreams('the log', (bench) => {
  let lines: Record<string, unknown>[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  beforeEach(() => {
    lines = []
    resetRouting(bench().server)
    Object.assign(bench().server.gateway, { log })
  })
  const path = () => bench().server.gateway.config.environment.HEADGATE_CONFIG ?? ''
  const before = () => readFileSync(path(), 'utf8')
  let settings = ''
  afterAll(() => Bun.write(path(), settings))
  const failOnce = async (stream = false) => {
    bench().first.enqueue({ status: 500 })
    const response = await sendRequest(bench(), 'chat', { model: 'test/both-chat', stream }, { headers: ids })
    await response.text()
    return response
  }

  test.each([false, true])('a failed attempt has the ids of its request (stream: %p)', async (stream) => {
    const response = await failOnce(stream)
    expect(lines).toContainEqual(
      expect.objectContaining({
        msg: 'attempt failed',
        subsystem: 'inference',
        requestId: 'client-chosen-id',
        generationId: response.headers.get('x-generation-id'),
        traceId,
      }),
    )
  })

  test('a line without a trace has no trace id', async () => {
    bench().first.enqueue({ status: 500 })
    await (await sendRequest(bench(), 'chat', { model: 'test/both-chat' })).text()
    const line = lines.find(({ msg }) => msg === 'attempt failed')
    expect(line).toMatchObject({ requestId: expect.stringMatching(/^req_/) })
    expect(line).not.toHaveProperty('traceId')
  })

  test('an internal error names the request and its trace', async () => {
    const { gateway, url, own } = bench().server
    const { accounts } = gateway
    Object.assign(gateway, { accounts: undefined })
    const response = await fetch(`${url}/api/v1/credits`, {
      headers: { authorization: `Bearer ${own.managementKey}`, ...ids },
    })
    Object.assign(gateway, { accounts })
    expect(response.status).toBe(500)
    expect(lines).toContainEqual(
      expect.objectContaining({
        msg: 'request failed',
        subsystem: 'http',
        requestId: 'client-chosen-id',
        traceId,
      }),
    )
  })

  test('a reload changes the level of a subsystem, also of logs that components hold; an invalid file changes nothing', async () => {
    settings = before()
    const { gateway } = bench().server
    const held = subsystemLog(log, 'ledger')
    const reload = async (logging: string) => {
      await Bun.write(path(), `${settings}\n${logging}\n`)
      await reloadGateway(gateway)
    }
    await reload('logging: { level: info, subsystems: { inference: error, ledger: debug } }')
    await failOnce()
    held.debug('shown')
    expect(lines.map(({ msg }) => msg)).not.toContain('attempt failed')
    expect(lines.map(({ msg }) => msg)).toContain('shown')
    await reload('logging: { subsystems: { ledgr: debug } }')
    expect(lines).toContainEqual(
      expect.objectContaining({ level: 50, problem: expect.stringContaining('logging.subsystems') }),
    )
    expect(held.level).toBe('debug')
    await reload('logging: { level: warn }')
    lines = []
    resetRouting(bench().server)
    await failOnce()
    held.info('hidden')
    expect(lines.map(({ msg }) => msg)).toEqual(['attempt failed'])
    await waitUntil(async () => {
      const entries = await gateway.db
        .selectFrom('audit_entries')
        .selectAll()
        .where('action', '=', 'settings.reload')
        .execute()
      return entries.some((entry) => JSON.stringify(entry).includes('logging'))
    })
  })
})

/** Lines for several requests at once, or for none. */
const linesWithoutRequest = new Set([
  'src/inference/guard/hits.ts',
  'src/inference/rates/rate-queue.ts',
  'src/inference/routers/spending.ts',
  'src/inference/shadow/skip.ts',
])

describe('the source', () => {
  test('every line about a request to a model has its ids', () => {
    const missing = [...new Glob('src/inference/**/*.ts').scanSync('.')]
      .filter((path) => !path.endsWith('.test.ts') && !linesWithoutRequest.has(path))
      .flatMap((path) => {
        const calls = readFileSync(path, 'utf8').matchAll(
          /(\S*)\.(?:trace|debug|info|warn|error|fatal)\(\s*(?:\{([^}]*)\}|'|`)/g,
        )
        return [...calls]
          .filter(([call]) => /log(?:\b|Of|ger)|Log\(/.test(call))
          .filter(([, target = '', fields = '']) => {
            const isOfRequest = /logOf\(/.test(target) || /\)$/.test(target)
            return !isOfRequest || (!/logOf|request\)$/.test(target) && !fields.includes('generationId'))
          })
          .map(([call]) => `${path}: ${call}`)
      })
    expect(missing).toEqual([])
  })
})
