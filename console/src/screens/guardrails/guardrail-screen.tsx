import { useQuery } from '@tanstack/react-query'
import { createLazyRoute, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { callOf } from '../../api/call.ts'
import { api, client } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { mayDoIn, useSession } from '../../app/session.tsx'
import { DangerPanel } from '../../components/danger-panel.tsx'
import { HistoryButton } from '../../components/history-button.tsx'
import { Page } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { type DraftFields, fieldsOf, type Guardrail, toDraft } from './draft.ts'
import { GuardrailEditor } from './guardrail-editor.tsx'
import { HistoryCheck } from './history-check.tsx'
import { KeyAssignments, keyAssignmentsOptions } from './key-assignments.tsx'
import { MemberAssignments, memberAssignmentsOptions } from './member-assignments.tsx'
import { SaveGuardrail } from './save-guardrail.tsx'
import { TestBox } from './test-box.tsx'

export const screen = createLazyRoute('/guardrails/$id')({ component: GuardrailScreen })

function GuardrailScreen() {
  const { id } = screen.useParams()
  const options = api.queryOptions('get', '/guardrails/{id}', { params: { path: { id } } })
  const query = useQuery(options)
  return (
    <Page
      title={query.data?.data.name ?? 'Guardrail'}
      docs="guardrails"
      description={<TextLink to="/guardrails">All guardrails</TextLink>}
      actions={<HistoryButton search={{ target_id: id }} />}
      calls={[callOf(options), callOf(keyAssignmentsOptions(id)), callOf(memberAssignmentsOptions(id))]}
    >
      <QueryView query={query}>{({ data }) => <Details key={data.id} guardrail={data} />}</QueryView>
    </Page>
  )
}

/** Shows a guardrail. Tests use the draft in the form, saved or not. */
function Details({ guardrail }: { guardrail: Guardrail }) {
  const mayChange = mayDoIn(useSession(), guardrail.workspace_id, 'guardrails:write')
  const [fields, setFields] = useState<DraftFields | null>(() => fieldsOf(guardrail))
  const [isSaving, setSaving] = useState(false)
  const draft = fields && toDraft(fields)
  const isChanged = JSON.stringify(draft) !== JSON.stringify(toDraft(fieldsOf(guardrail)))
  return (
    <>
      <GuardrailEditor
        guardrail={guardrail}
        fields={fields}
        isChanged={isChanged}
        mayChange={mayChange}
        onChange={setFields}
        onSave={() => setSaving(true)}
      />
      {isSaving && draft && (
        <SaveGuardrail guardrail={guardrail} draft={draft} onClose={() => setSaving(false)} />
      )}
      <TestBox draft={draft} />
      {mayChange && <HistoryCheck draft={draft} workspaceId={guardrail.workspace_id} />}
      <KeyAssignments guardrail={guardrail} mayChange={mayChange} />
      <MemberAssignments guardrail={guardrail} mayChange={mayChange} />
      {mayChange && <Deletion guardrail={guardrail} />}
    </>
  )
}

function Deletion({ guardrail: { id, name } }: { guardrail: Guardrail }) {
  const refresh = useRefresh()
  const navigate = useNavigate()
  const remove = async () => {
    await client.DELETE('/guardrails/{id}', { params: { path: { id } } })
    await navigate({ to: '/guardrails' })
    await refresh('/guardrails')
  }
  return (
    <DangerPanel
      title="Delete the guardrail"
      description="Its rules no longer apply to its keys and members."
      action="Delete"
      name={name}
      onConfirm={remove}
    >
      This cannot be undone.
    </DangerPanel>
  )
}
