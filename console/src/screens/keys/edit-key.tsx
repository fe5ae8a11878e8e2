import { useState } from 'react'
import { client } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { FormDialog } from '../../components/form-dialog.tsx'
import { type KeyLimit, KeyLimitFields, toKeyLimit } from '../../components/key-limit-fields.tsx'
import { PrioritySelect } from '../../components/priority-select.tsx'
import { NameField } from '../../components/text-field.tsx'
import { TierSelect } from '../../components/tier-select.tsx'
import type { ApiKey } from './key-fields.ts'

export function EditKey({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const refresh = useRefresh()
  const [name, setName] = useState(apiKey.name)
  const [limit, setLimit] = useState<KeyLimit>(apiKey)
  const [tier, setTier] = useState(apiKey.tier)
  const [priority, setPriority] = useState(apiKey.priority)
  const save = async () => {
    await client.PATCH('/keys/{hash}', {
      params: { path: { hash: apiKey.hash } },
      body: {
        name,
        ...toKeyLimit(limit),
        ...(tier !== apiKey.tier && { tier }),
        ...(priority !== apiKey.priority && { priority }),
      },
    })
    await refresh('/keys', '/keys/{hash}', '/budgets')
  }
  return (
    <FormDialog
      title={`Edit ${apiKey.name}`}
      action="Save"
      isReady={name.trim() !== ''}
      onSubmit={save}
      onClose={onClose}
    >
      <NameField maxLength={200} value={name} onChange={setName} />
      <KeyLimitFields value={limit} onChange={(changes) => setLimit({ ...limit, ...changes })} />
      <TierSelect value={tier} onChange={setTier} />
      <PrioritySelect value={priority} onChange={setPriority} />
    </FormDialog>
  )
}
