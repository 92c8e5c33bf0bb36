CREATE TABLE `session` (
	`id` text PRIMARY KEY,
	`project_id` text NOT NULL,
	`parent_id` text,
	`slug` text NOT NULL,
	`directory` text NOT NULL,
	`title` text NOT NULL,
	`version` text NOT NULL,
	`share_url` text,
	`summary_additions` integer,
	`summary_deletions` integer,
	`summary_files` integer,
	`summary_diffs` text,
	`revert` text,
	`permission` text,
	`time_created` integer NOT NULL,
	`time_updated` integer NOT NULL,
	`time_compacting` integer,
	`time_archived` integer,
	CONSTRAINT `fk_session_project_id_project_id_fk` FOREIGN KEY (`project_id`) REFERENCES `project`(`id`) ON DELETE CASCADE
);
CREATE TABLE `message` (
	`id` text PRIMARY KEY,
	`session_id` text NOT NULL,
	`time_created` integer NOT NULL,
	`time_updated` integer NOT NULL,
	`data` text NOT NULL,
	CONSTRAINT `fk_message_session_id_session_id_fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE
);
CREATE TABLE `part` (
	`id` text PRIMARY KEY,
	`message_id` text NOT NULL,
	`session_id` text NOT NULL,
	`time_created` integer NOT NULL,
	`time_updated` integer NOT NULL,
	`data` text NOT NULL,
	CONSTRAINT `fk_part_message_id_message_id_fk` FOREIGN KEY (`message_id`) REFERENCES `message`(`id`) ON DELETE CASCADE
);
INSERT INTO "message" VALUES('msg_20dabb77e001juhUUh2BRepGWX','ses_df25448e3ffe4wQGlDWnA6XVSY',1795525687166,1795525687838,'{"role":"user","time":{"created":1795525687166},"summary":{"diffs":[]},"agent":"build","model":{"providerID":"fake","modelID":"fake"}}');
INSERT INTO "message" VALUES('msg_20dabb869001dpxd3v8Fuo0gPI','ses_df25448e3ffe4wQGlDWnA6XVSY',1795525687401,1795525687686,'{"role":"assistant","time":{"created":1795525687401,"completed":1795525687685},"parentID":"msg_20dabb77e001juhUUh2BRepGWX","modelID":"fake","providerID":"fake","mode":"build","agent":"build","path":{"cwd":"/home/dev/project","root":"/"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_20dabb909001yvN9RdShh2YJsy','ses_df2544709ffeLTmuFChxqsxJPh',1795525687562,1795525687647,'{"role":"user","time":{"created":1795525687562},"summary":{"diffs":[]},"agent":"general","model":{"providerID":"fake","modelID":"fake"},"tools":{"todowrite":false,"todoread":false,"task":false}}');
INSERT INTO "message" VALUES('msg_20dabb93c001JOC7NhiL4nLWX9','ses_df2544709ffeLTmuFChxqsxJPh',1795525687612,1795525687649,'{"role":"assistant","time":{"created":1795525687612,"completed":1795525687648},"parentID":"msg_20dabb909001yvN9RdShh2YJsy","modelID":"fake","providerID":"fake","mode":"general","agent":"general","path":{"cwd":"/home/dev/project","root":"/"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}},"finish":"stop"}');
INSERT INTO "message" VALUES('msg_20dabb988001ylHDsi3dGXUqfl','ses_df25448e3ffe4wQGlDWnA6XVSY',1795525687688,1795525687863,'{"role":"assistant","time":{"created":1795525687688,"completed":1795525687863},"parentID":"msg_20dabb77e001juhUUh2BRepGWX","modelID":"fake","providerID":"fake","mode":"build","agent":"build","path":{"cwd":"/home/dev/project","root":"/"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}},"finish":"stop"}');
INSERT INTO "part" VALUES('prt_20dabb77f001pxetgST7cx717I','msg_20dabb77e001juhUUh2BRepGWX','ses_df25448e3ffe4wQGlDWnA6XVSY',1795525687183,1795525687183,'{"type":"text","text":"\"[[part:main]] go\"\n"}');
INSERT INTO "part" VALUES('prt_20dabb8c80011EtRwnu61SvWKW','msg_20dabb869001dpxd3v8Fuo0gPI','ses_df25448e3ffe4wQGlDWnA6XVSY',1795525687513,1795525687513,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_20dabb8d90016t6e6IO0GHPNVx','msg_20dabb869001dpxd3v8Fuo0gPI','ses_df25448e3ffe4wQGlDWnA6XVSY',1795525687514,1795525687662,'{"type":"tool","callID":"call_main_0_0","tool":"task","state":{"status":"completed","input":{"subagent_type":"general","description":"a","prompt":"[[part:a]] work"},"output":"task_id: ses_df2544709ffeLTmuFChxqsxJPh (for resuming to continue this task if needed)\n\n<task_result>\n\n</task_result>","title":"a","metadata":{"sessionId":"ses_df2544709ffeLTmuFChxqsxJPh","model":{"modelID":"fake","providerID":"fake"},"truncated":false},"time":{"start":1795525687540,"end":1795525687661}}}');
INSERT INTO "part" VALUES('prt_20dabb91f001LxVTArbhpbJtG9','msg_20dabb909001yvN9RdShh2YJsy','ses_df2544709ffeLTmuFChxqsxJPh',1795525687584,1795525687584,'{"type":"text","text":"[[part:a]] work"}');
INSERT INTO "part" VALUES('prt_20dabb950001uINqMr6Qt2OmyD','msg_20dabb93c001JOC7NhiL4nLWX9','ses_df2544709ffeLTmuFChxqsxJPh',1795525687632,1795525687633,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_20dabb957001mcyfpbHBTv8I0V','msg_20dabb93c001JOC7NhiL4nLWX9','ses_df2544709ffeLTmuFChxqsxJPh',1795525687640,1795525687640,'{"type":"step-finish","reason":"stop","cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "part" VALUES('prt_20dabb97f001F8ZP8yM8cOu6JD','msg_20dabb869001dpxd3v8Fuo0gPI','ses_df25448e3ffe4wQGlDWnA6XVSY',1795525687679,1795525687679,'{"type":"step-finish","reason":"tool-calls","cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "part" VALUES('prt_20dabb9f10016kJcs8AkOrI01C','msg_20dabb988001ylHDsi3dGXUqfl','ses_df25448e3ffe4wQGlDWnA6XVSY',1795525687793,1795525687807,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_20dabba00001VWdmWcx66VRhXQ','msg_20dabb988001ylHDsi3dGXUqfl','ses_df25448e3ffe4wQGlDWnA6XVSY',1795525687809,1795525687810,'{"type":"text","text":"Done without it.","time":{"start":1795525687810,"end":1795525687810}}');
INSERT INTO "part" VALUES('prt_20dabba1a001Ws2PkTFsHm31Fk','msg_20dabb988001ylHDsi3dGXUqfl','ses_df25448e3ffe4wQGlDWnA6XVSY',1795525687835,1795525687835,'{"type":"step-finish","reason":"stop","cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "session" VALUES('ses_df25448e3ffe4wQGlDWnA6XVSY','global',NULL,'witty-harbor','/home/dev/project','ok','1.2.11',NULL,0,0,0,NULL,NULL,'[{"permission":"question","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"}]',1795525687069,1795525687838,NULL,NULL);
INSERT INTO "session" VALUES('ses_df2544709ffeLTmuFChxqsxJPh','global','ses_df25448e3ffe4wQGlDWnA6XVSY','proud-knight','/home/dev/project','a (@general subagent)','1.2.11',NULL,0,0,0,NULL,NULL,'[{"permission":"todowrite","pattern":"*","action":"deny"},{"permission":"todoread","pattern":"*","action":"deny"},{"permission":"task","pattern":"*","action":"deny"}]',1795525687542,1795525687642,NULL,NULL);
