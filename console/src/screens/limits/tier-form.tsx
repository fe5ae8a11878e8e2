import { Switch } from '@mantine/core'
import { useState } from 'react'
import { client, type Schemas } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { FormDialog } from '../../components/form-dialog.tsx'
import { NameField, TextField } from '../../components/text-field.tsx'

interface TierFormProps {
  /** The tier to edit; without one, a new tier is created. */
  tier?: Schemas['LimitTier']
  onClose: () => void
}

export function TierForm({ tier, onClose }: TierFormProps) {
  const refresh = useRefresh()
  const [name, setName] = useState(tier?.name ?? '')
  const [description, setDescription] = useState(tier?.description ?? '')
  const [isDefault, setDefault] = useState(tier?.is_default ?? false)
  const save = async () => {
    const body = { description: description.trim() || null, is_default: isDefault }
    if (tier) await client.PATCH('/tiers/{name}', { params: { path: { name: tier.name } }, body })
    else await client.POST('/tiers', { body: { name, ...body } })
    await refresh('/tiers')
  }
  return (
    <FormDialog
      title={tier ? `Edit ${tier.name}` : 'Create a tier'}
      action={tier ? 'Save' : 'Create'}
      isReady={name !== ''}
      onSubmit={save}
      onClose={onClose}
    >
      {!tier && (
        <NameField
          description="Lowercase letters, digits, hyphens and underscores"
          maxLength={64}
          value={name}
          onChange={setName}
        />
      )}
      <TextField label="Description" maxLength={500} value={description} onChange={setDescription} />
      <Switch
        label="Default for new keys"
        checked={isDefault}
        onChange={(event) => setDefault(event.currentTarget.checked)}
      />
    </FormDialog>
  )
}
