import { Button, SegmentedControl } from '@mantine/core'
import { useMemo, useState } from 'react'
import type { Call } from '../../api/call.ts'
import { mayDo, useSession } from '../../app/session.tsx'
import { useWorkspace } from '../../app/workspace.tsx'
import { ButtonLink } from '../../components/button-link.tsx'
import { Page } from '../../components/page.tsx'
import type { SharedPrompt } from '../../components/playground-link.ts'
import { CodeButton } from './code-button.tsx'
import { ColumnView } from './column-view.tsx'
import { Composer } from './composer.tsx'
import { type Attachment, buildRequest, type ChatBody, shortenData } from './request.ts'
import { SavePreset } from './save-preset.tsx'
import { findProblems, readSettings, removeCredentials, type Settings } from './settings.ts'
import { SettingsPanel } from './settings-panel.tsx'
import { ShareLink } from './share-link.tsx'
import {
  type Column,
  type Conversation,
  createColumn,
  entriesOf,
  isRunning,
  maxColumns,
  useColumns,
} from './use-columns.ts'
import { useQuotes } from './use-quotes.ts'

/** One prompt, sent to up to four models side by side. */
export function Playground({ prompt }: { prompt: SharedPrompt }) {
  const session = useSession()
  const { current } = useWorkspace()
  const [settings, setSettings] = useState(() => readSettings(prompt.settings))
  const [draft, setDraft] = useState(prompt.draft)
  const [attachments, setAttachments] = useState<Attachment[]>([])
  const [isFormatted, setFormatted] = useState(true)
  const conversation = useColumns(
    () => prompt.models.map((model) => createColumn(model, entriesOf(prompt.messages))),
    settings,
  )
  const { columns } = conversation
  const running = columns.some(isRunning)
  const problem = Object.values(findProblems(settings))[0]
  const requests = useMemo(
    () => (running || problem ? null : buildRequests(columns, settings, draft, attachments)),
    [running, problem, columns, settings, draft, attachments],
  )
  const send = () => {
    conversation.send({ text: draft, attachments })
    setDraft('')
    setAttachments([])
  }
  return (
    <Page
      title="Playground"
      docs="playground"
      scope="one"
      description={`Send a message to up to four models side by side, with the cost before and after.${current ? ` Requests are charged to the workspace ${current.name}.` : ''}`}
      calls={listCalls(columns, settings, draft, attachments)}
      actions={
        <Actions conversation={conversation} settings={settings} draft={draft} attachments={attachments} />
      }
    >
      <div style={{ display: 'flex', flexWrap: 'wrap', gap: 24, alignItems: 'flex-start' }}>
        <div style={{ flex: '999 1 min(100%, 480px)', minWidth: 0 }}>
          <Columns conversation={conversation} requests={requests} isFormatted={isFormatted} />
          <Composer
            draft={draft}
            attachments={attachments}
            isRunning={running}
            problem={problem}
            canAttach={mayDo(session, 'files:write')}
            onDraft={setDraft}
            onAttachments={setAttachments}
            onSend={send}
            onStop={() => conversation.stop()}
          />
        </div>
        <aside aria-label="Settings" style={{ flex: '1 1 280px' }}>
          <FormatControl isFormatted={isFormatted} onChange={setFormatted} />
          <SettingsPanel
            settings={settings}
            onChange={(change) => setSettings((old) => ({ ...old, ...change }))}
          />
        </aside>
      </div>
    </Page>
  )
}

interface ActionsProps {
  conversation: Conversation
  settings: Settings
  draft: string
  attachments: Attachment[]
}

function Actions({ conversation: { columns, add, clear }, settings, draft, attachments }: ActionsProps) {
  const session = useSession()
  return (
    <>
      <Button variant="default" size="xs" disabled={columns.length >= maxColumns} onClick={add}>
        Add model
      </Button>
      <Button variant="default" size="xs" onClick={clear}>
        Clear
      </Button>
      {mayDo(session, 'presets:write') && <SaveButton columns={columns} settings={settings} />}
      <CodeButton createBody={() => createBody(columns, settings, draft, attachments)} />
      {mayDo(session, 'comparisons:read') && <ButtonLink to="/comparisons">Comparisons</ButtonLink>}
      <ShareLink createPrompt={() => createPrompt(columns, settings, draft)} />
    </>
  )
}

interface ColumnsProps {
  conversation: Conversation
  /** The next request of each column, if there is one. */
  requests: Record<string, ChatBody> | null
  isFormatted: boolean
}

function Columns({ conversation, requests, isFormatted }: ColumnsProps) {
  const { columns } = conversation
  const quotes = useQuotes(requests)
  const gridTemplateColumns = 'repeat(auto-fit, minmax(min(100%, 300px), 1fr))'
  return (
    <div style={{ display: 'grid', gap: 24, gridTemplateColumns, marginBottom: 24 }}>
      {columns.map((column, index) => (
        <ColumnView
          key={column.id}
          column={column}
          number={index + 1}
          quote={requests ? quotes[column.id] : undefined}
          isFormatted={isFormatted}
          onModel={(model) => conversation.setModel(column, model)}
          onRemove={columns.length > 1 ? () => conversation.remove(column) : null}
          onStop={() => conversation.stop(column.id)}
          onRetry={() => conversation.retry(column)}
          onContinue={() => conversation.continueColumn(column)}
          onResult={(entry, callId, result) => conversation.setResult(column, entry, callId, result)}
        />
      ))}
    </div>
  )
}

interface FormatControlProps {
  isFormatted: boolean
  onChange: (isFormatted: boolean) => void
}

function FormatControl({ isFormatted, onChange }: FormatControlProps) {
  return (
    <SegmentedControl
      fullWidth
      size="xs"
      mb="sm"
      aria-label="How answers are shown"
      data={[
        { value: 'formatted', label: 'Formatted' },
        { value: 'plain', label: 'Plain text' },
      ]}
      value={isFormatted ? 'formatted' : 'plain'}
      onChange={(value) => onChange(value === 'formatted')}
    />
  )
}

function SaveButton({ columns, settings }: { columns: Column[]; settings: Settings }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button variant="default" size="xs" onClick={() => setOpen(true)}>
        Save as preset
      </Button>
      {isOpen && (
        <SavePreset
          models={columns.map(({ model }) => model)}
          settings={settings}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  )
}

/** The next request of each conversation; null if nothing is written yet. */
function buildRequests(columns: Column[], settings: Settings, draft: string, attachments: Attachment[]) {
  if (!draft.trim() && attachments.length === 0) return null
  const next = { kind: 'user' as const, id: 'next', text: draft, attachments }
  return Object.fromEntries(
    columns.map(({ id, model, entries }): [string, ChatBody] => [
      id,
      buildRequest(model, settings, [...entries, next]),
    ]),
  )
}

/** The next request to the first model. */
function createBody(columns: Column[], settings: Settings, draft: string, attachments: Attachment[]) {
  return Object.values(buildRequests(columns.slice(0, 1), settings, draft || 'Hello', attachments) ?? {})[0]
}

function listCalls(columns: Column[], settings: Settings, draft: string, attachments: Attachment[]): Call[] {
  const body = shortenData(createBody(columns, settings, draft, attachments))
  return [
    { method: 'POST', path: '/chat/completions', body },
    { method: 'POST', path: '/quote', body },
    { method: 'GET', path: '/models' },
  ]
}

/** Creates the content of a link: the conversation with the first model, without the calls of tools. */
function createPrompt(columns: Column[], settings: Settings, draft: string): SharedPrompt {
  return {
    models: columns.map(({ model }) => model),
    draft,
    settings: { ...removeCredentials(settings) },
    messages: (columns[0]?.entries ?? []).flatMap((entry): SharedPrompt['messages'] => {
      if (entry.kind === 'user') return [{ role: 'user', content: entry.text }]
      return entry.answer.text ? [{ role: 'assistant', content: entry.answer.text }] : []
    }),
  }
}
