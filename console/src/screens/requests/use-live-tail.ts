import { useEffect, useRef, useState } from 'react'
import { urlOf } from '../../api/call.ts'
import { ApiError } from '../../api/error.ts'
import { readEvents } from '../../api/event-stream.ts'
import type { LoggedRequest } from './columns.tsx'
import type { ListQuery } from './use-requests.ts'

const maxRows = 500

interface Tail {
  rows: LoggedRequest[]
  waiting: LoggedRequest[]
  /** Why there are no further rows, or not all of them. */
  note: string | null
}

const empty: Tail = { rows: [], waiting: [], note: null }

/** New requests, newest first. While it is paused they wait. */
export function useLiveTail(query: ListQuery, isOn: boolean, isPaused: boolean): Tail {
  const [tail, setTail] = useState(empty)
  const paused = useRef(isPaused)
  const address = urlOf({ method: 'GET', path: '/generations/stream', query })
  useEffect(() => {
    setTail(empty)
    if (!isOn) return
    const controller = new AbortController()
    follow(address, controller.signal, (event) =>
      setTail((last) => addEvent(last, event, paused.current)),
    ).catch((error: Error) => {
      if (!controller.signal.aborted) setTail((last) => ({ ...last, note: error.message }))
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

async function follow(address: string, signal: AbortSignal, onEvent: (event: StreamEvent) => void) {
  const response = await fetch(address, { signal, credentials: 'same-origin' })
  if (!response.ok || !response.body) throw await ApiError.from(response)
  for await (const data of readEvents(response.body)) onEvent(JSON.parse(data))
  throw new Error('The live tail has ended. Switch it on again to continue.')
}

export function addEvent(tail: Tail, event: StreamEvent, isPaused: boolean): Tail {
  if (!('id' in event)) return { ...tail, note: event.message }
  const next = { ...tail, waiting: [event, ...tail.waiting].slice(0, maxRows) }
  return isPaused ? next : showWaiting(next)
}

function showWaiting(tail: Tail): Tail {
  if (tail.waiting.length === 0) return tail
  return { ...tail, rows: [...tail.waiting, ...tail.rows].slice(0, maxRows), waiting: [] }
}
