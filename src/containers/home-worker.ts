import { handleRequests } from '../platform/concurrency/worker-thread.ts'
import { listHomeFiles, measureHome, measureMemory, measureUnlinked } from './home-tree.ts'

/** Work of the thread: it reads many files at once, which would block the event loop. */
export type HomeRequest =
  | { kind: 'measure'; home: string; maxEntries: number }
  | { kind: 'memory'; pid: number }
  | { kind: 'unlinked'; home: string; pid: number }
  | { kind: 'changed'; home: string; maxEntries: number; since: number; limit: number }
  | { kind: 'page'; home: string; maxEntries: number; after: string | null; limit: number }

function handle(request: HomeRequest) {
  switch (request.kind) {
    case 'measure':
      return measureHome(request.home, request.maxEntries)
    case 'memory':
      return measureMemory(request.pid)
    case 'unlinked':
      return measureUnlinked(request.home, request.pid)
    case 'changed':
      return listHomeFiles(request.home, request.maxEntries)
        .filter(({ path, changedAt }) => changedAt > request.since && !isHidden(path))
        .sort((a, b) => b.changedAt - a.changedAt)
        .slice(0, request.limit)
    case 'page':
      return listPage(request)
  }
}

function isHidden(path: string): boolean {
  return path.startsWith('.') || path.includes('/.')
}

function listPage({ home, maxEntries, after, limit }: Extract<HomeRequest, { kind: 'page' }>) {
  const files = listHomeFiles(home, maxEntries).filter(({ path }) => after === null || path > after)
  return { files: files.slice(0, limit), hasMore: files.length > limit }
}

// The first message only starts the thread.
handleRequests((request) => (request === null ? null : handle(request as HomeRequest)))
