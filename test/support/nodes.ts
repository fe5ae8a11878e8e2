import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openGateway, startServer } from '../../src/main.ts'
import { sendCall, startTestServer, stopThreads, type TestOptions, type TestServer } from './harness.ts'
import { newRedisEnvironment } from './valkey.ts'

const nodeEnvironment = { HEADGATE_SECRET_KEY: 'c4f1b7d29e835a60' }

/** Two servers on one PostgreSQL, which share the rest by Valkey. */
export async function startTwoNodes(
  options: TestOptions = {},
  redisUrl?: string,
): Promise<[TestServer, TestServer]> {
  const environment = { ...newRedisEnvironment(redisUrl), ...nodeEnvironment, ...options.environment }
  const first = await startTestServer('postgres', { ...options, environment })
  return [first, await joinServer(first)]
}

/** Three servers on one PostgreSQL, the first of which must be stopped last. */
export async function startThreeNodes(options: TestOptions): Promise<[TestServer, TestServer, TestServer]> {
  const environment = { ...nodeEnvironment, ...options.environment }
  const first = await startTestServer('postgres', { ...options, environment })
  return [first, await joinServer(first), await joinServer(first)]
}

/** Another server with the settings and the database of the first, which must be stopped before it. */
async function joinServer(first: TestServer): Promise<TestServer> {
  const dataDir = mkdtempSync(join(tmpdir(), 'headgate-node-'))
  const gateway = await openGateway({ ...first.gateway.config, dataDir }, first.clock)
  Object.assign(gateway, { timer: first.timer })
  Object.assign(gateway.settings.limits, first.gateway.settings.limits)
  const server = startServer(gateway)
  const url = `http://127.0.0.1:${server.port}`
  return {
    ...first,
    url,
    gateway,
    call: (method, path, options = {}) => sendCall(url, first.own.managementKey, method, path, options),
    stop: async () => {
      await server.stop(true)
      stopThreads(gateway)
      await gateway.ledger.close()
      await gateway.limitCounts.close()
      await gateway.cluster.close()
      await gateway.db.destroy()
      rmSync(dataDir, { recursive: true })
    },
  }
}
