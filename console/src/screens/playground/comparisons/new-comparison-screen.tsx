import { Button, Collapse, Group, Stack, Switch } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { createLazyRoute } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { mayDo, useSession } from '../../../app/session.tsx'
import { Page } from '../../../components/page.tsx'
import type { ChatBody } from '../request.ts'
import { defaultSettings, findProblems, type Settings } from '../settings.ts'
import { SettingsPanel } from '../settings-panel.tsx'
import { bytesOf, countVotable, listReplies, maxPromptBytes, setVote, sumUp, type Votes } from './matrix.ts'
import { BlindNotice, MatrixTable } from './matrix-table.tsx'
import { ModelFields, ModelHeader } from './model-fields.tsx'
import { PromptActions, PromptField } from './prompt-fields.tsx'
import { RunBar } from './run-bar.tsx'
import { SaveComparison } from './save-comparison.tsx'
import { Totals } from './totals.tsx'
import { useEstimate } from './use-estimate.ts'
import { listPlaces, type Matrix, requestAt, useMatrix } from './use-matrix.ts'

export const screen = createLazyRoute('/comparisons/new')({ component: NewComparisonScreen })

const noVotes: Votes = { votes: [], own_votes: [] }
const firstMatrix: Matrix = { models: ['sandbox/echo', 'sandbox/echo'], prompts: ['', ''] }

/** What is compared, with the replies and votes so far, which a change of it removes. */
function useDraft() {
  const [matrix, setMatrix] = useState(firstMatrix)
  const [settings, setSettings] = useState(defaultSettings)
  const [votes, setVotes] = useState(noVotes)
  const [isBlind, setBlind] = useState(false)
  const { cells, progress, run, cancel, clear } = useMatrix()
  const problem = findProblem(matrix, settings)
  const votable = countVotable(cells)
  const reset = () => {
    setVotes(noVotes)
    clear()
  }
  return {
    ...{ matrix, settings, votes, isBlind, cells, progress, problem, votable, setBlind, cancel },
    requests: useRequests(matrix, settings, problem !== undefined),
    hasResults: cells.length > 0 && !progress,
    isHidden: isBlind && cells.length > 0 && (progress !== null || votes.own_votes.length < votable),
    change: (next: Partial<Matrix>) => {
      reset()
      setMatrix((old) => ({ ...old, ...next }))
    },
    changeSettings: (next: Partial<Settings>) => {
      reset()
      setSettings((old) => ({ ...old, ...next }))
    },
    start: () => {
      reset()
      void run(matrix, settings, listPlaces(matrix))
    },
    vote: (prompt: number, model: number | null) => setVotes((old) => setVote(old, prompt, model)),
  }
}

type Draft = ReturnType<typeof useDraft>

/** Runs several prompts against several models. */
function NewComparisonScreen() {
  const session = useSession()
  const navigate = screen.useNavigate()
  const draft = useDraft()
  const [isSaving, setSaving] = useState(false)
  const [hasSettings, { toggle }] = useDisclosure(false)
  const { matrix, cells, votes, requests, hasResults, isHidden } = draft
  const totals = sumUp(matrix.models, cells, votes)
  return (
    <Page
      title="New comparison"
      docs="playground#compare-models-on-many-prompts"
      scope="one"
      description="Send several prompts to several models, and vote for the best reply to each."
      calls={[
        { method: 'POST', path: '/chat/completions', body: requests[0] },
        { method: 'POST', path: '/comparisons' },
      ]}
      actions={
        <>
          <Button size="xs" variant="default" aria-expanded={hasSettings} onClick={toggle}>
            Settings
          </Button>
          {mayDo(session, 'comparisons:write') && (
            <Button size="xs" disabled={!hasResults} onClick={() => setSaving(true)}>
              Save comparison
            </Button>
          )}
        </>
      }
    >
      <Collapse expanded={hasSettings}>
        <SettingsPanel settings={draft.settings} onChange={draft.changeSettings} />
      </Collapse>
      <Controls
        draft={draft}
        spent={hasResults && !isHidden ? totals.reduce((sum, { cost }) => sum + cost, 0) : null}
      />
      {isHidden && hasResults && <BlindNotice voted={votes.own_votes.length} total={draft.votable} />}
      <EditableMatrix draft={draft} />
      {hasResults && !isHidden && <Totals totals={totals} />}
      {isSaving && (
        <SaveComparison
          content={{ ...matrix, parameters: parametersOf(requests[0]), replies: listReplies(cells) }}
          votes={votes}
          isBlind={draft.isBlind}
          onSaved={(id) => void navigate({ to: '/comparisons/$id', params: { id } })}
          onClose={() => setSaving(false)}
        />
      )}
    </Page>
  )
}

/** Adds prompts and models, and runs them. */
function Controls({ draft, spent }: { draft: Draft; spent: number | null }) {
  const { matrix, requests, progress, change } = draft
  const estimate = useEstimate(requests)
  const isDisabled = progress !== null
  return (
    <Stack gap="sm">
      <Group justify="space-between" gap="sm">
        <Group gap="xs">
          <PromptActions
            prompts={matrix.prompts}
            isDisabled={isDisabled}
            onChange={(prompts) => change({ prompts })}
          />
          <ModelFields
            models={matrix.models}
            isDisabled={isDisabled}
            onChange={(models) => change({ models })}
          />
        </Group>
        <Switch
          label="Blind"
          checked={draft.isBlind}
          onChange={(event) => draft.setBlind(event.currentTarget.checked)}
        />
      </Group>
      <RunBar
        count={requests.length}
        estimate={estimate}
        problem={draft.problem}
        progress={progress}
        spent={spent}
        onRun={draft.start}
        onCancel={draft.cancel}
      />
    </Stack>
  )
}

function EditableMatrix({ draft }: { draft: Draft }) {
  const { matrix, progress, change } = draft
  const { models, prompts } = matrix
  const isDisabled = progress !== null
  return (
    <MatrixTable
      models={models}
      promptCount={prompts.length}
      cells={draft.cells}
      votes={draft.votes}
      isBlind={draft.isHidden}
      seed={models.join(' ')}
      renderPrompt={(prompt) => (
        <PromptField
          number={prompt + 1}
          value={prompts[prompt] ?? ''}
          isReadOnly={isDisabled}
          onChange={(text) => change({ prompts: prompts.with(prompt, text) })}
          onRemove={prompts.length > 1 ? () => change({ prompts: prompts.toSpliced(prompt, 1) }) : null}
        />
      )}
      renderModel={(model) => (
        <ModelHeader
          models={models}
          model={model}
          isDisabled={isDisabled}
          onChange={(next) => change({ models: next })}
        />
      )}
      onVote={draft.hasResults ? draft.vote : null}
    />
  )
}

/** The requests of a run; none while they cannot be sent. */
function useRequests(matrix: Matrix, settings: Settings, isBlocked: boolean): ChatBody[] {
  return useMemo(
    () =>
      isBlocked || matrix.prompts.some((prompt) => prompt.trim() === '')
        ? []
        : listPlaces(matrix).map((place) => requestAt(matrix, settings, place)),
    [matrix, settings, isBlocked],
  )
}

function findProblem({ prompts }: Matrix, settings: Settings): string | undefined {
  if (bytesOf(prompts) > maxPromptBytes) return 'The prompts have more than 300 KB together. Remove some.'
  return Object.values(findProblems(settings))[0]
}

/** What the requests have in common. */
function parametersOf(request: ChatBody | undefined): Record<string, unknown> {
  if (!request) return {}
  const { model: _model, stream: _stream, messages, ...parameters } = request
  const system = messages.find(({ role }) => role === 'system')
  return { ...(system && { system: system.content }), ...parameters }
}
