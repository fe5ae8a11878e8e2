import { Text } from '@mantine/core'
import { useState } from 'react'
import { client } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { DialogButton } from '../../components/dialog-button.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { type KeyLimit, KeyLimitFields, toKeyLimit } from '../../components/key-limit-fields.tsx'
import { runForAll } from '../../components/run-for-all.ts'
import { noTagRules, TagRulesFields, toTagRules } from '../../components/tag-rules-fields.tsx'
import { TierSelect } from '../../components/tier-select.tsx'
import { formatPlural } from '../../format/number.ts'
import type { KeyChanges } from './key-draft.ts'
import type { ApiKey } from './key-fields.ts'

/** What can be done with several keys. */
export function BulkActions({ keys }: { keys: readonly ApiKey[] }) {
  const refresh = useRefresh()
  const changeAll = async (body: KeyChanges) => {
    await runForAll(keys, 'key', ({ hash }) =>
      client.PATCH('/keys/{hash}', { params: { path: { hash } }, body }),
    )
    await refresh('/keys', '/keys/{hash}', '/budgets')
  }
  return (
    <>
      <ActionButton onAction={() => changeAll({ disabled: true })}>Disable</ActionButton>
      <ActionButton onAction={() => changeAll({ disabled: false })}>Enable</ActionButton>
      <DialogButton label="Set tags" variant="default">
        {(close) => <SetTags count={keys.length} onSave={changeAll} onClose={close} />}
      </DialogButton>
      <DialogButton label="Set limit" variant="default">
        {(close) => <SetLimit count={keys.length} onSave={changeAll} onClose={close} />}
      </DialogButton>
      <DialogButton label="Assign tier" variant="default">
        {(close) => <AssignTier count={keys.length} onSave={changeAll} onClose={close} />}
      </DialogButton>
    </>
  )
}

interface BulkFormProps {
  count: number
  onSave: (body: KeyChanges) => Promise<void>
  onClose: () => void
}

function SetTags({ count, onSave, onClose }: BulkFormProps) {
  const [rules, setRules] = useState(noTagRules)
  return (
    <FormDialog
      title={`Set tags of ${formatPlural(count, 'key')}`}
      action="Save"
      size="lg"
      onSubmit={() => onSave({ tags: toTagRules(rules) })}
      onClose={onClose}
    >
      <Text size="sm">Replaces the tag rules of the selected keys. Leave empty to remove them.</Text>
      <TagRulesFields value={rules} onChange={setRules} />
    </FormDialog>
  )
}

function SetLimit({ count, onSave, onClose }: BulkFormProps) {
  const [limit, setLimit] = useState<KeyLimit>({
    limit: null,
    limit_reset: null,
    include_byok_in_limit: false,
  })
  return (
    <FormDialog
      title={`Set the limit of ${formatPlural(count, 'key')}`}
      action="Save"
      size="lg"
      onSubmit={() => onSave(toKeyLimit(limit))}
      onClose={onClose}
    >
      <Text size="sm">Sets this limit on each selected key. Past spending still counts.</Text>
      <KeyLimitFields value={limit} onChange={(changes) => setLimit({ ...limit, ...changes })} />
    </FormDialog>
  )
}

function AssignTier({ count, onSave, onClose }: BulkFormProps) {
  const [tier, setTier] = useState<string | null>(null)
  return (
    <FormDialog
      title={`Assign a tier to ${formatPlural(count, 'key')}`}
      action="Save"
      onSubmit={() => onSave({ tier })}
      onClose={onClose}
    >
      <TierSelect value={tier} onChange={setTier} />
      <Text size="sm">
        {tier === null
          ? 'Without a tier, only the other limits of the keys apply.'
          : 'The limits of the tier apply from the next request on.'}
      </Text>
    </FormDialog>
  )
}
