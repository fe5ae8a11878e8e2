import { useEffect, useRef, useState } from 'react'
import { urlOf } from '../../api/call.ts'
import type { LoggedRequest } from './columns.tsx'
import { type Connection, followStream, waitFor } from './follow.ts'
import type { ListQuery } from './use-requests.ts'

const maxRows = 500

interface Tail {
  rows: LoggedRequest[]
  waiting: LoggedRequest[]
  /** The reason there are no further rows, or not all of them. */
  note: string | null
  connection: Connection
}

const empty: Tail = { rows: [], waiting: [], note: null, connection: 'connecting' }

interface LiveTailOptions {
  isOn: boolean
  isPaused: boolean
  /** Reads the list again: what happened without a connection is not in the stream. */
  onReconnect: () => void
}

/** New requests, newest first. While it is paused they wait. */
export function useLiveTail(query: ListQuery, { isOn, isPaused, onReconnect }: LiveTailOptions): Tail {
  const [tail, setTail] = useState(empty)
  const paused = useRef(isPaused)
  const reconnected = useRef(onReconnect)
  reconnected.current = onReconnect
  const address = urlOf({ method: 'GET', path: '/generations/stream', query })
  useEffect(() => {
    setTail(empty)
    if (!isOn) return
    const controller = new AbortController()
    let connections = 0
    const handlers = {
      onEvent: (data: string) => setTail((last) => addEvent(last, JSON.parse(data), paused.current)),
      onConnection: (connection: Connection) => {
        if (connection === 'connected' && connections++ > 0) reconnected.current()
        setTail((last) => ({ ...last, connection }))
      },
    }
    const open = (signal: AbortSignal) => fetch(address, { signal, credentials: 'same-origin' })
    followStream(controller.signal, handlers, { fetch: open, wait: waitFor }).catch((error: Error) => {
      setTail((last) => ({ ...last, note: error.message, connection: 'waiting' }))
    })
    return () => controller.abort()
  }, [address, isOn])
  useEffect(() => {
    paused.current = isPaused
    if (!isPaused) setTail(showWaiting)
  }, [isPaused])
  return tail
}

type StreamEvent = LoggedRequest | { message: string }

function addEvent(tail: Tail, event: StreamEvent, isPaused: boolean): Tail {
  if (!('id' in event)) return { ...tail, note: event.message }
  const next = { ...tail, waiting: [event, ...tail.waiting].slice(0, maxRows) }
  return isPaused ? next : showWaiting(next)
}

function showWaiting(tail: Tail): Tail {
  if (tail.waiting.length === 0) return tail
  return { ...tail, rows: [...tail.waiting, ...tail.rows].slice(0, maxRows), waiting: [] }
}
