import { useCallback, useEffect, useRef, useState } from 'react'
import type { SharedPrompt } from '../../components/playground-link.ts'
import { startAnswer } from './answer.ts'
import { type AnswerEntry, buildRequest, type Entry, newId, type UserEntry } from './request.ts'
import { runRequest } from './run.ts'
import type { Settings } from './settings.ts'

export const maxColumns = 4

/** A conversation with one model. */
export interface Column {
  id: string
  model: string
  entries: Entry[]
}

export function createColumn(model: string, entries: Entry[] = []): Column {
  return { id: newId(), model, entries }
}

/** The conversation of a link, which every model continues. */
export function entriesOf(messages: SharedPrompt['messages']): Entry[] {
  return messages.map(({ role, content }) =>
    role === 'user'
      ? { kind: 'user', id: newId(), text: content, attachments: [] }
      : {
          kind: 'answer',
          id: newId(),
          answer: { ...startAnswer(0), status: 'done', text: content },
          request: null,
          results: {},
        },
  )
}

export function isRunning({ entries }: Column): boolean {
  const last = entries.at(-1)
  return last?.kind === 'answer' && last.answer.status === 'streaming'
}

/** The columns, and a way to change one of them or one of its answers. */
function useColumnState(initial: () => Column[]) {
  const [columns, setColumns] = useState(initial)
  const change = (id: string, edit: (column: Column) => Column) =>
    setColumns((all) => all.map((column) => (column.id === id ? edit(column) : column)))
  const changeAnswer = (id: string, entryId: string, edit: (entry: AnswerEntry) => AnswerEntry) =>
    change(id, (column) => ({
      ...column,
      entries: column.entries.map((entry) =>
        entry.id === entryId && entry.kind === 'answer' ? edit(entry) : entry,
      ),
    }))
  return { columns, setColumns, change, changeAnswer }
}

/** The requests under way, by column. Leaving the screen aborts them. */
function useRunning() {
  const running = useRef(new Map<string, AbortController>())
  const stop = useCallback((id?: string) => {
    for (const [column, controller] of running.current) {
      if (id === undefined || id === column) controller.abort()
    }
  }, [])
  useEffect(() => () => stop(), [stop])
  return { running: running.current, stop }
}

/** The conversations side by side, and what can be done with them. */
export function useColumns(initial: () => Column[], settings: Settings) {
  const { columns, setColumns, change, changeAnswer } = useColumnState(initial)
  const { running, stop } = useRunning()

  /** Lets the model of a column answer these entries. */
  const answer = async ({ id, model }: Column, entries: Entry[]) => {
    const request = buildRequest(model, settings, entries)
    const entryId = newId()
    const started = startAnswer(performance.now())
    const entry: AnswerEntry = { kind: 'answer', id: entryId, answer: started, request, results: {} }
    change(id, (column) => ({ ...column, entries: [...entries, entry] }))
    const controller = new AbortController()
    running.set(id, controller)
    await runRequest(request, controller.signal, (next) =>
      changeAnswer(id, entryId, (old) => ({ ...old, answer: next })),
    )
    if (running.get(id) === controller) running.delete(id)
  }

  return {
    columns,
    stop,
    send: (user: Omit<UserEntry, 'kind' | 'id'>) => {
      for (const column of columns) {
        void answer(column, [...column.entries, { ...user, kind: 'user', id: newId() }])
      }
    },
    /** Sends the results of tool calls. */
    continueColumn: (column: Column) => void answer(column, column.entries),
    /** Replaces the last answer by another one. */
    retry: (column: Column) => void answer(column, column.entries.slice(0, -1)),
    setResult: (column: Column, entry: AnswerEntry, callId: string, result: string) =>
      changeAnswer(column.id, entry.id, (old) => ({
        ...old,
        results: { ...old.results, [callId]: result },
      })),
    setModel: (column: Column, model: string) => change(column.id, (old) => ({ ...old, model })),
    add: () => setColumns((all) => [...all, createColumn(all.at(-1)?.model ?? '')]),
    remove: (column: Column) => {
      stop(column.id)
      setColumns((all) => all.filter(({ id }) => id !== column.id))
    },
    clear: () => {
      stop()
      setColumns((all) => all.map((column) => ({ ...column, entries: [] })))
    },
  }
}

export type Conversation = ReturnType<typeof useColumns>
