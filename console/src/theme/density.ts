import { useLocalStorage } from '@mantine/hooks'
import { type Density, densities } from './tokens.ts'

/** The density that the person has chosen in this browser. */
export function useDensity(): readonly [Density, (density: Density) => void] {
  const [stored, setStored] = useLocalStorage<string>({
    key: 'headgate-density',
    defaultValue: 'standard',
    getInitialValueInEffect: false,
    serialize: (value) => value,
    deserialize: (value) => value ?? 'standard',
  })
  return [isDensity(stored) ? stored : 'standard', setStored]
}

export function isDensity(value: string): value is Density {
  return Object.hasOwn(densities, value)
}
