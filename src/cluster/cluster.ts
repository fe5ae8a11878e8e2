/**
 * What the nodes of an installation share besides the database: fast, and lost at any time without harm. The database
 * decides about money, keys and policies; this makes other nodes notice sooner, and counts what must be counted by all.
 *
 * In memory, an operation returns its result without a promise. On Valkey, each has a time limit, and a fallback that
 * its comment names for the time when the server does not answer.
 */
export interface Cluster {
  readonly status: ClusterStatus
  /**
   * Counts an amount in the window of a name, unless the limit would be exceeded. Fallback: this node counts alone, up
   * to its share of the limit.
   */
  take(name: string, amount: number, rule: WindowRule, now: number): Take | Promise<Take>
  /** Subtracts an amount that was taken, from its window or the one after it. Fallback: of what this node counted. */
  refund(name: string, amount: number, take: Take, windowMs: number): void | Promise<void>
  /** Occupies one of `limit` slots, until it is released or this node dies. Fallback: this node's share of the slots. */
  acquire(name: string, limit: number): boolean | Promise<boolean>
  /** Frees a slot that was acquired. */
  release(name: string): void
  /** Fallback: null. */
  get(name: string): string | null | Promise<string | null>
  /** Fallback: nothing is stored. */
  set(name: string, value: string, ttlMs: number): void | Promise<void>
  /** Stores a value if the present one is `expected`, null if there is none. Fallback: false. */
  compareAndSet(
    name: string,
    expected: string | null,
    value: string,
    ttlMs: number,
  ): boolean | Promise<boolean>
  /** Fallback: the value remains until it expires. */
  delete(name: string): void | Promise<void>
  /** Sends a message to the other nodes, at most once. Fallback: it is not sent. */
  publish(channel: string, message: string): void
  /** Calls the listener for messages of other nodes. What it throws is logged. */
  subscribe(channel: string, listener: (message: string) => void): void
  /** Calls the listener when messages may have been missed. */
  onReconnect(listener: () => void): void
  /** Elects one node for a task; null if another has the lease. Fallback: null. */
  lease(name: string, ttlMs: number): Lease | null | Promise<Lease | null>
  close(): Promise<void>
}

export interface WindowRule {
  limit: number
  windowMs: number
  /**
   * A fixed window begins at a multiple of its length. A sliding one also counts the share of the window before that
   * is less than one length ago, as if its amounts had been even.
   */
  kind: 'fixed' | 'sliding'
}

/** The outcome of `take`. */
export interface Take {
  isTaken: boolean
  /** Counted in the window, with the amount if it was taken. */
  used: number
  /** The start of the window that it was counted in. */
  windowStart: number
}

/** Held until it expires. Every later lease of the same name has a higher fencing number. */
export interface Lease {
  readonly fence: number
  /** Extends it; false if it has expired or cannot be extended. */
  renew(): boolean | Promise<boolean>
  release(): void | Promise<void>
}

export interface ClusterStatus {
  /** `workers`: in the memory of the process that started this one. */
  kind: 'memory' | 'valkey' | 'workers'
  /** Always true in memory. */
  isConnected: boolean
  operations: number
  timeouts: number
  /** Operations that failed for another reason. */
  errors: number
  /** Operations that returned their fallback. */
  fallbacks: number
}
