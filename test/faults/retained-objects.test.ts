import { heapStats } from 'bun:jsc'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { plugins } from '../../src/inference/plugins/all.ts'
import { serverTools } from '../../src/inference/tools/all.ts'
import { bwrapPath } from '../support/containers.ts'
import { startTestServer, type TestServer } from '../support/harness.ts'
import { isLong, testTimeoutMs } from './options.ts'
import { pluginKinds, type RequestKind, requestKinds, settings, toolKinds } from './request-kinds.ts'
import { sendAll, type Target } from './request-senders.ts'

/** Requests of each kind. */
const counts = isLong ? { usual: 5000, slow: 5000 } : { usual: 16, slow: 8 }
const warmUpCount = isLong ? 300 : 6
const groupSize = 12
/** Classes of which a request has at least one object while it is in progress, and nothing else creates many. */
const classes = [
  ...['AbortController', 'AbortSignal', 'BunRequest', 'Request', 'Response', 'Headers', 'ReadableStream'],
  ...['Promise', 'Timeout', 'Generator', 'AsyncGenerator', 'AsyncFunctionGenerator', 'JSLexicalEnvironment'],
  ...['Function', 'AsyncFunction', 'Map', 'Set', 'DOMException', 'Error', 'IncomingMessage', 'Uint8Array'],
]
const maxCollections = 60

let server: TestServer
let target: Target
beforeAll(async () => {
  server = await startTestServer('sqlite', { settings })
  const { url, own, gateway } = server
  target = { url, key: own.inferenceKey, countExchanges: () => gateway.upstreams.exchanges.size }
})
afterAll(async () => {
  await server.stop()
})

type Counts = Record<string, number>

function countObjects(): Counts {
  Bun.gc(true)
  const counted: Counts = heapStats().objectTypeCounts
  return Object.fromEntries(classes.map((name) => [name, counted[name] ?? 0]))
}

/** The classes with an object more for every second request. */
function listGrown(before: Counts, after: Counts, requests: number): string[] {
  const limit = requests / 2
  return classes.flatMap((name) => {
    const grown = (after[name] ?? 0) - (before[name] ?? 0)
    return grown > limit ? [`${name}: ${(grown / requests).toFixed(1)} for each request`] : []
  })
}

/** Finds the objects that requests leave on the heap. Sockets and finalizers take a few turns of the event loop. */
async function findRetained(kinds: readonly RequestKind[], isWarm = false): Promise<string[]> {
  for (const kind of isWarm ? [] : kinds) await sendAll(target, kind, warmUpCount)
  const before = countObjects()
  for (const kind of kinds) await sendAll(target, kind, kind.isSlow ? counts.slow : counts.usual)
  const least = Math.min(...kinds.map(({ isSlow }) => (isSlow ? counts.slow : counts.usual)))
  let grown = listGrown(before, countObjects(), least)
  for (let attempt = 1; attempt < maxCollections && grown.length > 0; attempt++) {
    await Bun.sleep(10)
    grown = listGrown(before, countObjects(), least)
  }
  return grown
}

/** A collection takes as long as many requests, so that the short form has one for several kinds. */
const groups = isLong ? requestKinds.map((kind) => [kind]) : divideKinds()

function divideKinds(): RequestKind[][] {
  const [slow, usual] = [
    requestKinds.filter(({ isSlow }) => isSlow),
    requestKinds.filter(({ isSlow }) => !isSlow),
  ]
  const starts = Array.from({ length: Math.ceil(usual.length / groupSize) }, (_, index) => index * groupSize)
  return [...starts.map((start) => usual.slice(start, start + groupSize)), slow]
}

describe('R19 I10 nothing of a request stays on the heap', () => {
  for (const kinds of groups) {
    test(
      kinds.map(({ name }) => name).join('; '),
      async () => {
        const retained = await findRetained(kinds)
        const leaks: Record<string, string[]> = {}
        if (retained.length > 0) for (const kind of kinds) leaks[kind.name] = await findRetained([kind], true)
        expect({ retained, leaks }).toEqual({ retained: [], leaks: {} })
        expect(server.gateway.upstreams.exchanges.size).toBe(0)
      },
      testTimeoutMs,
    )
  }
})

test('every server tool and every plugin is among the kinds', () => {
  const names = (kinds: readonly RequestKind[]) => kinds.map(({ name }) => name.split(' ')[1]).sort()
  const needsContainers = bwrapPath === null ? ['bash', 'shell'] : []
  const tools = serverTools.map(({ name }) => name).filter((name) => !needsContainers.includes(name))
  expect(names(toolKinds)).toEqual(tools.sort())
  expect(names(pluginKinds)).toEqual(plugins.map(({ id }) => id as string).sort())
})
