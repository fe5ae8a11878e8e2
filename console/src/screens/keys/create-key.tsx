import { SegmentedControl, Textarea } from '@mantine/core'
import { useState } from 'react'
import { mayDo, useSession } from '../../app/session.tsx'
import { useWorkspace } from '../../app/workspace.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { MemberSelect } from '../../components/member-select.tsx'
import { NameField, TextField } from '../../components/text-field.tsx'
import { TargetWorkspace } from '../../components/workspace-scope.tsx'
import { type BulkResult, BulkResults } from './bulk-results.tsx'
import { createKey, createKeys } from './create-keys.ts'
import { GuardrailSelect } from './guardrail-select.tsx'
import { emptyKeyDraft, type NewKeyDraft } from './key-draft.ts'
import { KeyForm } from './key-form.tsx'
import { maxKeys, parseKeyTable } from './key-table-text.ts'
import { type NewKey, NewKeySecret } from './new-key-secret.tsx'

const modes = [
  { value: 'one', label: 'One key' },
  { value: 'several', label: 'Several keys' },
]

/** A form, and then the secrets of the keys. */
export function CreateKey({ onClose }: { onClose: () => void }) {
  const { current } = useWorkspace()
  const [mode, setMode] = useState('one')
  const [draft, setDraft] = useState<NewKeyDraft>({ ...emptyKeyDraft, workspaceId: current?.id ?? null })
  const [text, setText] = useState('')
  const [created, setCreated] = useState<NewKey | null>(null)
  const [results, setResults] = useState<BulkResult[] | null>(null)
  const update = (changes: Partial<NewKeyDraft>) => setDraft((before) => ({ ...before, ...changes }))
  if (created) return <NewKeySecret created={created} onClose={onClose} />
  if (results) return <BulkResults results={results} onClose={onClose} />
  const isOne = mode === 'one'
  const table = parseKeyTable(text)
  const submit = async () => {
    if (isOne) setCreated(await createKey(draft))
    else if ('rows' in table) setResults(await createKeys(draft, table.rows))
  }
  return (
    <FormDialog
      title={isOne ? 'Create an API key' : 'Create API keys'}
      action={isOne || !('rows' in table) ? 'Create' : `Create ${table.rows.length}`}
      size="lg"
      isReady={isOne ? draft.name.trim() !== '' : 'rows' in table && table.rows.length > 0}
      onSubmit={submit}
      onDone={() => undefined}
      onClose={onClose}
    >
      <SegmentedControl aria-label="Number of keys" size="xs" data={modes} value={mode} onChange={setMode} />
      {isOne ? (
        <NameField
          description="The application or person that will use it"
          value={draft.name}
          maxLength={200}
          onChange={(name) => update({ name })}
        />
      ) : (
        <Textarea
          label="Keys"
          description={`One name per line, or CSV with the columns name, limit, limit_reset, tier, owner and expires. At most ${maxKeys}. Empty cells have the values below.`}
          placeholder={'checkout\nsearch\nreports'}
          autosize
          minRows={4}
          maxRows={12}
          data-autofocus
          value={text}
          error={'problem' in table ? table.problem : null}
          styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
          onChange={(event) => setText(event.currentTarget.value)}
        />
      )}
      <NewKeyFields draft={draft} onChange={update} />
    </FormDialog>
  )
}

interface NewKeyFieldsProps {
  draft: NewKeyDraft
  onChange: (changes: Partial<NewKeyDraft>) => void
}

function NewKeyFields({ draft, onChange }: NewKeyFieldsProps) {
  const session = useSession()
  const mayGuard = mayDo(session, 'guardrails:write')
  return (
    <KeyForm
      isNew
      draft={draft}
      onChange={onChange}
      {...(draft.guardrailId !== null && { allowed: null })}
      more={
        <>
          <TargetWorkspace
            value={draft.workspaceId}
            onChange={(workspaceId) => onChange({ workspaceId, guardrailId: null })}
          />
          {mayDo(session, 'members:read') && (
            <MemberSelect
              label="Owner"
              description="Counts toward this member's limits. Leave empty for yourself."
              value={draft.ownerId === null ? [] : [draft.ownerId]}
              onChange={(ids) => onChange({ ownerId: ids.at(-1) ?? null })}
            />
          )}
          {mayGuard && (
            <GuardrailSelect
              workspaceId={draft.workspaceId}
              value={draft.guardrailId}
              onChange={(guardrailId) => onChange({ guardrailId, models: [], providers: [] })}
            />
          )}
          <TextField
            type="date"
            label="Expires"
            description="At the end of the day (UTC). You cannot change it later."
            value={draft.lastDay}
            onChange={(lastDay) => onChange({ lastDay })}
          />
        </>
      }
    />
  )
}
