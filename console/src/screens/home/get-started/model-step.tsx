import { Stack, Text } from '@mantine/core'
import { mayDoEverywhere, useSession } from '../../../app/session.tsx'
import { TextLink } from '../../../components/text-link.tsx'
import type { Progress } from './use-progress.ts'

/** Says which models can be called now, and where others are added. */
export function ModelStep({ models }: Pick<Progress, 'models'>) {
  const mayAdd = mayDoEverywhere(useSession(), 'catalogue:write')
  return (
    <Stack maw={560} gap="sm">
      <Text size="sm">
        {models.length > 0
          ? `Requests can use ${models.slice(0, 3).join(', ')}${models.length > 3 ? ' and more' : ''}.`
          : 'Models are available once their provider has a key. Until then, use sandbox models such as sandbox/echo.'}
      </Text>
      <TextLink to="/models" size="sm">
        {mayAdd ? 'Choose or add a model' : 'Browse the models'}
      </TextLink>
    </Stack>
  )
}
