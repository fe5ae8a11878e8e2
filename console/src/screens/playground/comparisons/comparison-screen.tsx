import { Badge, Button, Group, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { useState } from 'react'
import { callOf } from '../../../api/call.ts'
import { api, client, type Schemas } from '../../../api/client.ts'
import { useRefresh } from '../../../api/use-refresh.ts'
import { mayDo, mayDoEverywhere, mayDoIn, type Session, useSession } from '../../../app/session.tsx'
import { Copy } from '../../../components/copy.tsx'
import { DialogButton } from '../../../components/dialog-button.tsx'
import { ErrorNotice } from '../../../components/error-notice.tsx'
import { FormDialog } from '../../../components/form-dialog.tsx'
import { JsonTree } from '../../../components/json-tree.tsx'
import { Page } from '../../../components/page.tsx'
import { Panel } from '../../../components/panel.tsx'
import { QueryView } from '../../../components/query-view.tsx'
import { TextField } from '../../../components/text-field.tsx'
import {
  type Audience,
  bodyOf,
  isComplete,
  VisibilityFields,
} from '../../../components/visibility-fields.tsx'
import { countVotable, savedCellOf } from './matrix.ts'
import { BlindNotice, MatrixTable } from './matrix-table.tsx'
import { Totals } from './totals.tsx'

export const screen = createLazyRoute('/comparisons/$id')({ component: ComparisonScreen })

type Comparison = Schemas['Comparison']

/** A saved comparison, to read and to vote on. */
function ComparisonScreen() {
  const { id } = screen.useParams()
  const options = api.queryOptions('get', '/comparisons/{id}', { params: { path: { id } } })
  const query = useQuery(options)
  const comparison = query.data?.data
  return (
    <Page
      title={comparison?.name ?? 'Comparison'}
      docs="playground#compare-models-on-many-prompts"
      calls={[callOf(options), { method: 'PUT', path: `/comparisons/${id}/votes/0`, body: { model: 0 } }]}
      actions={comparison && <Actions comparison={comparison} />}
    >
      <QueryView query={query}>{({ data }) => <Content comparison={data} />}</QueryView>
    </Page>
  )
}

function Content({ comparison }: { comparison: Comparison }) {
  const session = useSession()
  const refresh = useRefresh()
  const [isRevealed, setRevealed] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const { id, models, prompts, replies, totals, own_votes, parameters } = comparison
  const cells = replies.map(savedCellOf)
  const rows = countVotable(cells)
  const isBlind = comparison.is_blind && !isRevealed && own_votes.length < rows
  const vote = async (prompt: number, model: number | null) => {
    setError(null)
    const params = { path: { id, prompt: String(prompt) } }
    try {
      if (model === null) await client.DELETE('/comparisons/{id}/votes/{prompt}', { params })
      else await client.PUT('/comparisons/{id}/votes/{prompt}', { params, body: { model } })
      await refresh('/comparisons/{id}')
    } catch (failure) {
      setError(failure)
    }
  }
  return (
    <>
      <Group gap="xs">
        <Badge variant="default" tt="none">
          {visibilityNames[comparison.visibility]}
        </Badge>
        {isBlind && <BlindNotice voted={own_votes.length} total={rows} />}
        {isBlind && (
          <Button size="compact-xs" variant="subtle" onClick={() => setRevealed(true)}>
            Reveal now
          </Button>
        )}
      </Group>
      {error !== null && <ErrorNotice error={error} />}
      {!isBlind && <Totals totals={totals} />}
      <MatrixTable
        models={models}
        promptCount={prompts.length}
        cells={cells}
        votes={comparison}
        isBlind={isBlind}
        seed={id}
        renderPrompt={(prompt) => (
          <Text size="sm" style={{ whiteSpace: 'pre-wrap' }}>
            {prompts[prompt]}
          </Text>
        )}
        onVote={mayDo(session, 'comparisons:write') ? (prompt, model) => void vote(prompt, model) : null}
      />
      {Object.keys(parameters).length > 0 && !isBlind && (
        <Panel title="Parameters">
          <JsonTree label="Parameters" value={parameters} />
        </Panel>
      )}
    </>
  )
}

const visibilityNames = {
  private: 'Only you',
  workspace: 'Shared with a workspace',
  organization: 'Shared with the organization',
}

function Actions({ comparison }: { comparison: Comparison }) {
  const session = useSession()
  const canChange = mayChange(session, comparison)
  return (
    <>
      <Copy value={window.location.href} label="Copy the link" />
      {canChange && (
        <DialogButton label="Share" variant="default">
          {(close) => <ShareDialog comparison={comparison} onClose={close} />}
        </DialogButton>
      )}
      {canChange && (
        <DialogButton label="Delete" variant="default" color="red">
          {(close) => <DeleteDialog comparison={comparison} onClose={close} />}
        </DialogButton>
      )}
    </>
  )
}

function mayChange(session: Session, { visibility, workspace_id }: Comparison): boolean {
  if (visibility === 'private') return mayDo(session, 'comparisons:write')
  return workspace_id === null
    ? mayDoEverywhere(session, 'shared_comparisons:write')
    : mayDoIn(session, workspace_id, 'shared_comparisons:write')
}

interface DialogProps {
  comparison: Comparison
  onClose: () => void
}

function ShareDialog({ comparison, onClose }: DialogProps) {
  const refresh = useRefresh()
  const { id, visibility, workspace_id, is_own } = comparison
  const [name, setName] = useState(comparison.name)
  const [audience, setAudience] = useState<Audience>({ visibility, workspaceId: workspace_id })
  const save = async () => {
    const isMoved = audience.visibility !== visibility || audience.workspaceId !== workspace_id
    const body = { name, ...(isMoved && bodyOf(audience)) }
    await client.PATCH('/comparisons/{id}', { params: { path: { id } }, body })
    await refresh('/comparisons', '/comparisons/{id}')
  }
  return (
    <FormDialog
      title="Share comparison"
      action="Save"
      isReady={name.trim() !== '' && isComplete(audience)}
      onSubmit={save}
      onClose={onClose}
    >
      <TextField label="Name" value={name} onChange={setName} maxLength={100} />
      <VisibilityFields
        permission="shared_comparisons:write"
        isOwn={is_own}
        value={audience}
        onChange={setAudience}
      />
      <Text size="sm" c="dimmed">
        Everyone who sees it can read its prompts and replies, and vote.
      </Text>
    </FormDialog>
  )
}

function DeleteDialog({ comparison: { id, name }, onClose }: DialogProps) {
  const refresh = useRefresh()
  const navigate = screen.useNavigate()
  const remove = async () => {
    await client.DELETE('/comparisons/{id}', { params: { path: { id } } })
    await navigate({ to: '/comparisons' })
    await refresh('/comparisons')
  }
  return (
    <FormDialog title={`Delete “${name}”`} action="Delete" onSubmit={remove} onClose={onClose}>
      <Text size="sm">
        Its prompts, replies and votes are deleted for everyone who sees it. The requests stay on record.
      </Text>
    </FormDialog>
  )
}
