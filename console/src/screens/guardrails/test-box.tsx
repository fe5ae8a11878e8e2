import { Alert, Badge, Group, Mark, Paper, Stack, Text, Textarea, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, type Schemas } from '../../api/client.ts'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Panel } from '../../components/panel.tsx'
import type { Draft } from './draft.ts'
import { actionColors } from './filter-action.ts'
import { splitByMatches } from './highlight.ts'

const waitMs = 300
const maxCharacters = 20_000

const outcomes: Record<Schemas['GuardrailPreview']['outcome'], { color: string; text: string }> = {
  allowed: { color: 'teal', text: 'The request would pass unchanged.' },
  redacted: { color: 'orange', text: 'The request would pass with the marked text replaced.' },
  blocked: { color: 'red', text: 'The request would be rejected.' },
}

/** Shows what the draft does with a text, while it is typed. Nothing is sent to a model or recorded. */
export function TestBox({ draft }: { draft: Draft | null }) {
  const [text, setText] = useState('')
  const [model, setModel] = useState('sandbox/echo')
  const [settled] = useDebouncedValue({ text, model, draft }, waitMs)
  return (
    <Panel
      title="Try it"
      description="Uses the rules above, including unsaved changes. Nothing is sent to a model or recorded."
    >
      <Textarea
        label="Message"
        placeholder="Write to ada@example.com about invoice 42."
        autosize
        minRows={3}
        maxRows={12}
        maxLength={maxCharacters}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <TextInput
        label="Model"
        maw={320}
        value={model}
        onChange={(event) => setModel(event.currentTarget.value)}
      />
      {settled.text !== '' && settled.draft && (
        <Outcome text={settled.text} model={settled.model} draft={settled.draft} />
      )}
    </Panel>
  )
}

interface OutcomeProps {
  text: string
  model: string
  draft: Draft
}

function Outcome({ text, model, draft }: OutcomeProps) {
  const query = useQuery({
    ...api.queryOptions('post', '/guardrails/preview', {
      body: { guardrail: draft, request: { model, messages: [{ role: 'user', content: text }] } },
    }),
    placeholderData: keepPreviousData,
  })
  if (query.error !== null) return <ErrorNotice error={query.error} />
  if (!query.data) return <Text size="sm">Looking…</Text>
  const { outcome, hits, error } = query.data.data
  const positions = query.isPlaceholderData ? [] : hits.flatMap((hit) => hit.positions)
  return (
    <Stack gap="sm" aria-live="polite">
      <Alert color={outcomes[outcome].color}>
        {outcomes[outcome].text}
        {error && <Text size="sm">{messageOf(error)}</Text>}
      </Alert>
      <Paper withBorder p="sm" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
        {splitByMatches(text, positions).map((segment) =>
          segment.isMatch ? (
            <Mark key={segment.start}>{segment.text}</Mark>
          ) : (
            <span key={segment.start}>{segment.text}</span>
          ),
        )}
      </Paper>
      <Group gap="xs">
        {hits.map((hit) => (
          <Badge
            key={`${hit.rule} ${hit.action} ${hit.part}`}
            color={actionColors[hit.action]}
            variant="light"
            tt="none"
          >
            {hit.action} {hit.rule}: {hit.count}
          </Badge>
        ))}
      </Group>
    </Stack>
  )
}

/** The message of an error as the API sends it. */
function messageOf(error: Record<string, unknown>): string {
  return typeof error.message === 'string' ? error.message : JSON.stringify(error)
}
