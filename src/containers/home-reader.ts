import { WorkerThread } from '../platform/concurrency/worker-thread.ts'
import type { HomeFile, HomeSize } from './home-tree.ts'
import type { HomeRequest } from './home-worker.ts'

export interface HomePage {
  files: HomeFile[]
  hasMore: boolean
}

/** Reads homes on threads: those that watch running commands never wait for what may take longer. */
export class HomeReader {
  readonly #memoryThread = newThread()
  readonly #diskThread = newThread()
  readonly #listThread = newThread()

  measure(home: string, maxEntries: number): Promise<HomeSize> {
    return this.#call(this.#diskThread, { kind: 'measure', home, maxEntries }) as Promise<HomeSize>
  }

  measureMemory(pid: number): Promise<number> {
    return this.#call(this.#memoryThread, { kind: 'memory', pid }) as Promise<number>
  }

  measureUnlinked(home: string, pid: number): Promise<number> {
    return this.#call(this.#diskThread, { kind: 'unlinked', home, pid }) as Promise<number>
  }

  /** The files that changed last, except hidden ones. */
  listChanged(home: string, options: { maxEntries: number; since: number; limit: number }) {
    return this.#call(this.#listThread, { kind: 'changed', home, ...options }) as Promise<HomeFile[]>
  }

  /** Lists files in the order of their paths, beginning behind `after`. */
  listPage(home: string, options: { maxEntries: number; after: string | null; limit: number }) {
    return this.#call(this.#listThread, { kind: 'page', home, ...options }) as Promise<HomePage>
  }

  close(): void {
    this.#memoryThread.terminate()
    this.#diskThread.terminate()
    this.#listThread.terminate()
  }

  #call(thread: WorkerThread, request: HomeRequest): Promise<unknown> {
    return thread.call(request)
  }
}

function newThread(): WorkerThread {
  return new WorkerThread(new URL('./home-worker.ts', import.meta.url), null)
}
