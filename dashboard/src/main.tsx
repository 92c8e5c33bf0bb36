import {render} from 'preact';
import {App} from './app';
import './style/index.css';

render(<App />, document.getElementById('page')!);
