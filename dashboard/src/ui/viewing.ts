// Whether digd is a viewer of a fleet. A viewer changes nothing: it has no mode, no holds to decide, no judgements.
import {createContext} from 'preact';

export const Viewing = createContext(false);
